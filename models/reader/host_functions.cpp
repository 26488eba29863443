// Reads `host_functions:`: declarations with types and cost, bound to a library only when a model runs.
#include "models/reader/declarations.h"
#include "models/reader/functions.h"

namespace cleave::models {
namespace {

std::optional<std::string> text_of(const YamlEntry& entry, Errors& errors) {
  const std::string text(trimmed(entry.value.text));
  if (entry.value.scalar() && !text.empty()) return text;
  if (!entry.value.broken()) errors.add(DiagnosticKind::type, entry.value.span, "`" + entry.key.text + "` is a text");
  return std::nullopt;
}

/// One type, or a list of them.
std::optional<std::vector<TensorType>> types_of(const YamlNode& node, Evaluator& evaluator) {
  std::vector<const YamlNode*> nodes;
  if (node.list()) {
    for (const YamlNode& item : node.items) nodes.push_back(&item);
  } else {
    nodes.push_back(&node);
  }
  std::vector<TensorType> types;
  for (const YamlNode* item : nodes) {
    auto type = read_type(*item, evaluator);
    if (!type) return std::nullopt;
    types.push_back(*std::move(type));
  }
  return types;
}

class HostFunctionReader {
 public:
  explicit HostFunctionReader(Evaluator& evaluator) : evaluator_(evaluator), errors_(evaluator.errors) {}

  /// Returns a function even after a mistake in its declaration, as long as its types are known, so that its calls are checked.
  std::shared_ptr<const HostFunction> read(const YamlEntry& entry, const Name& name) {
    if (!check_keys(entry, keys(), "a host function", errors_)) return nullptr;
    function_.name = function_.symbol = name.text;
    if (const YamlEntry* library = entry.value.find("library")) {
      if (const auto path = text_of(*library, errors_)) function_.library = errors_.source().resolve(*path);
    } else if (!may_be_misspelt(entry, "library", keys())) {
      errors_.add(DiagnosticKind::syntax, name.span,
                  "the host function `" + name.text + "` needs `library:`, the path of a shared library");
    }
    if (const YamlEntry* symbol = entry.value.find("symbol")) {
      if (const auto text = text_of(*symbol, errors_)) function_.symbol = *text;
    }
    if (const YamlEntry* pure = entry.value.find("pure")) read_pure(pure->value);
    if (const YamlEntry* seconds = entry.value.find("seconds")) read_seconds(seconds->value);
    if (const YamlEntry* deadline = entry.value.find("deadline")) read_deadline(deadline->value);
    return read_types(entry, name) ? std::make_shared<const HostFunction>(std::move(function_)) : nullptr;
  }

 private:
  static const std::vector<std::string>& keys() {
    static const std::vector<std::string> known = {"library", "symbol", "takes", "returns", "seconds", "pure", "deadline", "gradient"};
    return known;
  }

  bool read_types(const YamlEntry& entry, const Name& name) {
    const YamlEntry* takes = entry.value.find("takes");
    if (!takes && may_be_misspelt(entry, "takes", keys())) return false;
    if (!takes) {
      errors_.add(DiagnosticKind::syntax, name.span, "the host function `" + name.text + "` needs `takes:`, the types of its arguments");
      return false;
    }
    auto taken = types_of(takes->value, evaluator_);
    if (!taken) return false;
    function_.takes = *std::move(taken);
    const YamlEntry* returns = entry.value.find("returns");
    if (!returns) return true;
    auto given = types_of(returns->value, evaluator_);
    if (!given) return false;
    function_.returns = *std::move(given);
    return true;
  }

  void read_pure(const YamlNode& node) {
    const auto expression = parse_expression(node, errors_, "true or false");
    const auto literal = expression ? evaluator_.literal(*expression, "`pure`") : std::nullopt;
    if (!literal) return;
    if (literal->type != Literal::Type::boolean) errors_.add(DiagnosticKind::type, node.span, "`pure` is true or false");
    function_.pure = literal->integer != 0;
  }

  void read_seconds(const YamlNode& node) {
    const auto expression = parse_expression(node, errors_, "a number of seconds");
    const auto seconds = expression ? evaluator_.number(*expression, "`seconds`") : std::nullopt;
    if (!seconds) return;
    if (!(*seconds >= 0 && *seconds < 1e9))
      errors_.add(DiagnosticKind::value, node.span, "`seconds` is the duration of one call, from 0 to 1e9");
    function_.seconds = *seconds;
  }

  void read_deadline(const YamlNode& node) {
    const auto expression = parse_expression(node, errors_, "a number of seconds");
    const auto seconds = expression ? evaluator_.number(*expression, "`deadline`") : std::nullopt;
    if (!seconds) return;
    if (!(*seconds > 0 && *seconds < 1e9))
      errors_.add(DiagnosticKind::value, node.span, "`deadline` is how long one call may take, a positive number of seconds");
    function_.deadline = *seconds;
  }

  Evaluator& evaluator_;
  Errors& errors_;
  HostFunction function_;
};

}  // namespace

HostFunctions read_host_functions(const YamlNode& node, Evaluator& evaluator) {
  HostFunctions functions;
  for (const YamlEntry& entry : section_entries(node, "host_functions", evaluator.errors)) {
    const auto name = declared_name(entry.key, evaluator.errors);
    if (!name) continue;
    auto function = HostFunctionReader(evaluator).read(entry, *name);
    if (!function) continue;
    functions.emplace(name->text, std::move(function));
    if (const YamlEntry* gradient = entry.value.find("gradient"))
      if (auto key = read_gradient_key(gradient->value, evaluator.errors)) evaluator.host_gradients.emplace(name->text, *std::move(key));
  }
  return functions;
}

}  // namespace cleave::models
