#include "graph/base/diagnostic_baseline.h"

#include "graph/base/diagnostic_fingerprint.h"
#include "graph/base/json_reader.h"

namespace cleave {
namespace {

const std::string* text_of(const JsonTree& tree, std::size_t object, std::string_view key) {
  const auto found = tree.find(object, key);
  if (!found || tree.items[*found].scalar.type != JsonScalar::Type::text) return nullptr;
  return &tree.items[*found].scalar.text;
}

}  // namespace

Result<std::set<std::string>> read_baseline(std::string_view text, const std::string& file) {
  const auto error = [&](const std::string& what) {
    return Error{file + ": not a baseline: " + what + "; write one with `cleave check MODEL --json`", {}, ErrorKind::file};
  };
  const std::optional<JsonTree> tree = JsonTree::parse(text);
  if (!tree) return error("it is no JSON, or cut off");
  const bool object = tree->items[0].kind == JsonTree::Kind::object;
  const auto list = object ? tree->find(0, "diagnostics") : std::nullopt;
  if (!list || !tree->find(0, "cleave") || tree->items[*list].kind != JsonTree::Kind::list) return error("it has no `diagnostics`");
  std::set<std::string> prints;
  for (const std::size_t item : tree->children(*list)) {
    const bool readable = tree->items[item].kind == JsonTree::Kind::object;
    const std::string* print = readable ? text_of(*tree, item, "fingerprint") : nullptr;
    const std::string* severity = readable ? text_of(*tree, item, "severity") : nullptr;
    if (!print || !severity) return error("a diagnostic in it has no fingerprint or severity");
    if (!print->starts_with(kFingerprintVersion)) return error("its fingerprints are those of another version of cleave");
    if (*severity != to_string(Severity::allowed)) prints.insert(*print);
  }
  return prints;
}

SinceBaseline since_baseline(const Diagnostics& diagnostics, const StatementOf& statement_of, const std::set<std::string>& baseline) {
  SinceBaseline since;
  const std::vector<std::string> prints = fingerprints(diagnostics, statement_of);
  auto print = prints.begin();
  for (const Diagnostic& diagnostic : diagnostics) {
    const std::string& mine = *print++;
    if (diagnostic.severity == Severity::allowed) continue;
    if (baseline.contains(mine))
      ++since.known;
    else
      since.fresh.add(diagnostic);
  }
  since.gone = baseline.size() - since.known;
  return since;
}

}  // namespace cleave
