// Lists the declared types of a model's inputs, with sizes still symbolic. Reads no other section and reports nothing.
#include "graph/base/file.h"
#include "models/reader/model_file.h"
#include "models/reader/source.h"
#include "models/reader/yaml_tree.h"

namespace cleave::models {
namespace {

/// Adds the inputs of a section or group. A group is a map without a `type` key whose members are inputs.
void collect(const std::vector<YamlEntry>& entries, const std::string& group, std::vector<DeclaredInput>& inputs) {
  for (const YamlEntry& entry : entries) {
    const std::string name = group.empty() ? entry.key.text : group + "." + entry.key.text;
    const YamlEntry* key = entry.value.map() ? entry.value.find("type") : &entry;
    if (key && key->value.scalar())
      inputs.push_back({name, key->value.text});
    else if (entry.value.map())
      collect(entry.value.entries, name, inputs);
  }
}

}  // namespace

std::vector<DeclaredInput> yaml_inputs_of(std::string_view text, const std::string& file) {
  const Source source(text, file);
  Errors errors(source);
  const std::optional<YamlNode> root = parse_yaml(source, errors);
  const YamlEntry* section = root && root->map() ? root->find("inputs") : nullptr;
  std::vector<DeclaredInput> inputs;
  if (section && section->value.map()) collect(section->value.entries, "", inputs);
  return inputs;
}

std::vector<DeclaredInput> yaml_inputs(const std::string& path) {
  const Result<std::string> text = read_file(path);
  return text ? yaml_inputs_of(*text, path) : std::vector<DeclaredInput>();
}

}  // namespace cleave::models
