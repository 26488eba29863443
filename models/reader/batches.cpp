// `for: (x, y) in batches(images, labels, size=64, shuffle=7, remainder=drop)`: the arguments and the names, and the loops over whole
// batches and the smaller one behind them. What a batch reads is recorded by BatchReader (graph/trace/batch_reader.h).
#include <algorithm>
#include <array>
#include <map>

#include "models/reader/program.h"

namespace cleave::models {
namespace {

constexpr const char* kSignature = "`batches(arrays…, size, shuffle?, remainder?, prefetch?)`";
constexpr std::array<std::string_view, 4> kKeywords = {"size", "shuffle", "remainder", "prefetch"};
constexpr std::pair<std::string_view, Remainder> kRemainders[] = {
    {"drop", Remainder::drop}, {"pad", Remainder::pad}, {"smaller", Remainder::smaller}};

}  // namespace

bool Program::reads_batches(const Statement& statement) {
  if (!statement.expression) return false;
  const ExpressionNode& root = statement.expression->root();
  return root.kind == ExpressionNode::Kind::list && root.text == kBatches;
}

std::optional<Remainder> Program::remainder(const ExpressionNode& node) {
  std::vector<std::string> names;
  const bool named = node.kind == ExpressionNode::Kind::name || node.kind == ExpressionNode::Kind::text;
  for (const auto& [name, value] : kRemainders) {
    if (named && node.text == name) return value;
    names.emplace_back(name);
  }
  evaluator_.fail(DiagnosticKind::unknown, node.span,
                  "`remainder` is `drop`, `pad` or `smaller`" + (named ? evaluator_.errors.suggest(node.text, names) : ""));
  return std::nullopt;
}

/// Whether the names are as many as the arrays, and with `pad` at most one more; reports it if not.
bool Program::fits_batch(const std::vector<Name>& names, std::size_t arrays, Remainder remainder) {
  if (names.size() == arrays || (remainder == Remainder::pad && names.size() == arrays + 1)) return true;
  const std::string count = std::to_string(names.size()) + (names.size() == 1 ? " name is" : " names are");
  const bool one_more = names.size() == arrays + 1;
  evaluator_.fail(DiagnosticKind::type, names[std::min(arrays, names.size() - 1)].span,
                  count + " bound to a batch of " + std::to_string(arrays) + (arrays == 1 ? " array" : " arrays") +
                      (one_more ? "; with `remainder=pad` one more is bound to the number of real rows" : ""));
  return false;
}

std::optional<Program::BatchLoop> Program::batch_loop(const Statement& statement) {
  const Expression& expression = *statement.expression;
  const ExpressionNode& root = expression.root();
  const auto refuse = [&](DiagnosticKind kind, Span span, std::string message) {
    evaluator_.fail(kind, span, std::move(message));
    return std::nullopt;
  };
  std::vector<std::uint32_t> arrays;
  std::map<std::string, std::uint32_t> given;
  for (std::size_t i = 0; i < root.parts.size(); ++i) {
    const Name& keyword = root.keywords[i];
    if (keyword.text.empty()) {
      arrays.push_back(root.parts[i]);
    } else if (std::find(kKeywords.begin(), kKeywords.end(), keyword.text) == kKeywords.end()) {
      return refuse(DiagnosticKind::unknown, keyword.span,
                    std::string(kSignature) + " takes no `" + keyword.text + "`" +
                        evaluator_.errors.suggest(keyword.text, {kKeywords.begin(), kKeywords.end()}));
    } else if (!given.emplace(keyword.text, root.parts[i]).second) {
      return refuse(DiagnosticKind::value, keyword.span, "`" + keyword.text + "` is given twice");
    }
  }
  if (arrays.empty()) return refuse(DiagnosticKind::type, root.span, std::string(kSignature) + " lacks an array");
  if (!given.contains("size")) return refuse(DiagnosticKind::type, root.span, std::string(kSignature) + " lacks `size`");

  BatchOptions options;
  const auto integer = [&](const char* name) { return evaluator_.integer(expression, "`" + std::string(name) + "`", given.at(name)); };
  if (given.contains("remainder")) {
    const auto found = remainder(expression.nodes[given.at("remainder")]);
    if (!found) return std::nullopt;
    options.remainder = *found;
  }
  if (!fits_batch(statement.names, arrays.size(), options.remainder)) return std::nullopt;
  const auto size = integer("size");
  if (given.contains("shuffle")) options.shuffle = integer("shuffle");
  if (!size || (given.contains("shuffle") && !options.shuffle)) return std::nullopt;
  std::optional<std::int64_t> ahead = prefetch(statement);
  if (given.contains("prefetch")) {
    const Span span = expression.nodes[given.at("prefetch")].span;
    if (statement.prefetch) return refuse(DiagnosticKind::value, span, "`prefetch` is given twice");
    ahead = checked_prefetch(integer("prefetch"), span);
    if (!ahead) return std::nullopt;
  }
  options.size = *size;

  const auto place = [&](std::uint32_t part) { return evaluator_.location(expression.nodes[part].span); };
  std::vector<detail::BatchReader::Source> sources;
  const Operands operands = evaluator_.parts(expression, arrays);
  for (std::size_t i = 0; i < arrays.size(); ++i) sources.push_back({operands[i], place(arrays[i])});
  detail::BatchReader reader(evaluator_.tracer, std::move(sources), options, evaluator_.location(root.span), place(given.at("size")));
  if (!reader.good()) return std::nullopt;
  if (statement.has_until && reader.rest() > 0)
    return refuse(DiagnosticKind::unsupported, statement.until ? statement.until->span : statement.span,
                  "`until` does not go with `remainder=smaller`, whose last batch is behind the loop");
  return BatchLoop{std::move(reader), ahead};
}

void Program::batches_loop(const Statement& statement) {
  if (statement.place != Side::none) evaluator_.tracer.push_place(statement.place);
  const std::optional<BatchLoop> found = batch_loop(statement);
  if (statement.place != Side::none) evaluator_.tracer.pop_place();
  if (!found) return skip(statement);
  const detail::BatchReader& reader = found->reader;
  const auto read = [&](const Operand& counter, bool whole) {
    if (statement.place != Side::none) evaluator_.tracer.push_place(statement.place);
    Operands batch = whole ? reader.read(counter) : reader.read_rest();
    if (statement.names.size() > batch.size()) batch.push_back(reader.real_rows(counter));
    if (statement.place != Side::none) evaluator_.tracer.pop_place();
    for (std::size_t i = 0; i < batch.size(); ++i) bind_name(statement.names[i], batch[i]);
  };
  const auto count = [](std::int64_t trips) { return Operand(Literal{Literal::Type::integer, trips, 0}); };
  loop(statement, count(reader.trips()), "", expected(statement, "expect"), at_most(statement), found->prefetch,
       [&](const Operand& counter) { read(counter, true); });
  if (reader.rest() == 0 || evaluator_.errors.any() || evaluator_.tracer.has_errors()) return;
  loop(statement, count(1), "", std::nullopt, std::nullopt, std::nullopt, [&](const Operand& counter) { read(counter, false); });
}

}  // namespace cleave::models
