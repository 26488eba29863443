#include "models/reader/declarations.h"

#include <algorithm>

#include "graph/array/npy.h"
#include "graph/base/spelling.h"

namespace cleave::models {
namespace {

/// The name that `key` declares, if no other declaration has it. For a member of a group, the group's name is put in front.
std::optional<Name> new_value_name(const YamlNode& key, const std::string& group, Evaluator& evaluator) {
  auto name = declared_name(key, evaluator.errors);
  if (!name) return std::nullopt;
  if (!group.empty()) name->text = group + "." + name->text;
  if (evaluator.models.contains(name->text)) {
    evaluator.fail(DiagnosticKind::value, name->span, "`" + name->text + "` is a model already, with a group of parameters of this name");
    return std::nullopt;
  }
  const Binding* known = evaluator.scopes.find(name->text);
  if (!known) return name;
  evaluator.fail(DiagnosticKind::value, name->span, "`" + name->text + "` is declared twice",
                 {evaluator.errors.note(known->span, "first here")});
  return std::nullopt;
}

/// The type of an input or parameter: its whole value, or the value of `type:`.
std::optional<TensorType> declared_type(const YamlEntry& entry, const std::vector<std::string>& keys, Evaluator& evaluator) {
  if (!entry.value.map()) return read_type(entry.value, evaluator);
  check_keys(entry, keys, "`" + entry.key.text + "`", evaluator.errors);
  if (const YamlEntry* type = entry.value.find("type")) return read_type(type->value, evaluator);
  if (may_be_misspelt(entry, "type", keys)) return std::nullopt;  // `type` may be present, misspelled
  evaluator.fail(DiagnosticKind::syntax, entry.key.span, "`" + entry.key.text + "` needs `type:`");
  return std::nullopt;
}

/// Whether a value is a group, such as `layer: {w: {type: …}, b: {type: …}}`: its keys neither are nor resemble keys of a declaration.
bool is_group(const YamlNode& node, const std::vector<std::string>& keys) {
  if (!node.map() || node.entries.empty()) return false;
  const auto map = [](const YamlEntry& entry) { return entry.value.map(); };
  const auto key = [&](const YamlEntry& entry) { return nearest_name(entry.key.text, keys).has_value(); };
  return std::all_of(node.entries.begin(), node.entries.end(), map) || std::none_of(node.entries.begin(), node.entries.end(), key);
}

/// The names and types that `like: params` gives: one without a name for a value, or those of a group's members. Nothing after a mistake.
std::vector<std::pair<std::string, TensorType>> types_like(const YamlNode& like, Evaluator& evaluator) {
  std::vector<std::pair<std::string, TensorType>> types;
  const auto name = parse_names(like, evaluator.errors);
  if (!name) return types;
  const auto add = [&](const std::string& member, const std::string& full) {
    const Binding* binding = evaluator.scopes.find(full);
    if (const TensorType* type = binding ? evaluator.tracer.type(binding->operand) : nullptr) types.emplace_back(member, *type);
  };
  const std::string& given = name->front().text;
  if (evaluator.scopes.find(given)) {
    add("", given);
  } else if (const auto* members = evaluator.scopes.find_group(given)) {
    for (const std::string& member : *members) add(member, given + "." + member);
  } else {
    evaluator.fail(DiagnosticKind::unknown, name->front().span,
                   "`like` names a parameter, an input or a group that is declared before; `" + given + "` is none" +
                       evaluator.errors.suggest(given, evaluator.scopes.visible()));
  }
  return types;
}

/// Reads the inputs or parameters of a section or group, including nested groups. `read(entry, name, type)` reads one. Returns the members'
/// names.
template <class Read>
std::vector<std::string> read_values(const std::vector<YamlEntry>& entries, const std::string& group, const std::vector<std::string>& keys,
                                     Evaluator& evaluator, const Read& read) {
  std::vector<std::string> members;
  for (const YamlEntry& entry : entries) {
    const auto name = new_value_name(entry.key, group, evaluator);
    const YamlEntry* like =
        entry.value.map() && std::find(keys.begin(), keys.end(), "like") != keys.end() ? entry.value.find("like") : nullptr;
    if (like) {
      check_keys(entry, keys, "`" + entry.key.text + "`", evaluator.errors);
      if (entry.value.find("type"))
        evaluator.fail(DiagnosticKind::value, like->key.span, "`like` gives the type already; `type` is one too many");
      std::vector<std::string> inner;
      for (const auto& [member, type] : types_like(like->value, evaluator)) {
        if (!name) continue;
        const std::string path = member.empty() ? "" : "." + member;
        read(entry, Name{name->text + path, name->span}, type);
        members.push_back(entry.key.text + path);
        if (!member.empty()) inner.push_back(member);
      }
      if (name && !inner.empty()) evaluator.scopes.bind_group(name->text, inner);
      if (name && inner.empty() && !evaluator.scopes.find(name->text)) evaluator.scopes.bind(name->text, Operand(), name->span);
    } else if (!is_group(entry.value, keys)) {
      read(entry, name, declared_type(entry, keys, evaluator));
      if (name) members.push_back(entry.key.text);
    } else if (name) {
      std::vector<std::string> inner = read_values(entry.value.entries, name->text, keys, evaluator, read);
      for (const std::string& member : inner) members.push_back(entry.key.text + "." + member);
      if (!inner.empty()) evaluator.scopes.bind_group(name->text, std::move(inner));
    }
  }
  return members;
}

}  // namespace

const std::vector<YamlEntry>& section_entries(const YamlNode& node, const std::string& section, Errors& errors) {
  if (!node.map() && !node.broken()) errors.add(DiagnosticKind::syntax, node.span, "`" + section + "` needs names with values: `name: …`");
  return node.entries;
}

bool may_be_misspelt(const YamlEntry& entry, const std::string& key, const std::vector<std::string>& keys) {
  return std::any_of(entry.value.entries.begin(), entry.value.entries.end(), [&](const YamlEntry& inner) {
    const bool known = std::find(keys.begin(), keys.end(), inner.key.text) != keys.end();
    return !known && nearest_name(inner.key.text, keys).value_or(key) == key;
  });
}

bool check_keys(const YamlEntry& entry, const std::vector<std::string>& keys, const std::string& what, Errors& errors) {
  if (entry.value.broken()) return false;
  if (!entry.value.map()) {
    errors.add(DiagnosticKind::syntax, entry.value.span, what + " needs keys with values: `" + keys.front() + ": …`");
    return false;
  }
  for (const YamlEntry& inner : entry.value.entries) {
    if (std::find(keys.begin(), keys.end(), inner.key.text) != keys.end()) continue;
    errors.add(DiagnosticKind::unknown, inner.key.span,
               "unknown key `" + inner.key.text + "` of " + what + errors.suggest(inner.key.text, keys));
  }
  return true;
}

std::optional<TensorType> read_type(const YamlNode& node, Evaluator& evaluator) {
  const auto expression = parse_expression(node, evaluator.errors, "a type such as `f32[4, 2]`");
  return expression ? evaluator.type(*expression) : std::nullopt;
}

void read_dims(const YamlNode* node, const std::map<std::string, std::int64_t>& given, Evaluator& evaluator) {
  static const std::vector<YamlEntry> kNone;
  Errors& errors = evaluator.errors;
  const std::vector<YamlEntry>& entries = node ? section_entries(*node, "dims", errors) : kNone;
  std::vector<std::string> names;
  for (const YamlEntry& entry : entries) {
    const auto name = declared_name(entry.key, errors);
    const auto expression = parse_expression(entry.value, errors, "an integer");
    if (!name || !expression) continue;
    names.push_back(name->text);
    auto value = evaluator.integer(*expression, "a dim");
    const auto override = given.find(name->text);
    if (override != given.end()) value = override->second;
    if (value && *value < 0) {
      errors.add(DiagnosticKind::value, override != given.end() ? name->span : expression->span,
                 "the dim `" + name->text + "` must not be negative: " + std::to_string(*value));
    }
    evaluator.scopes.add_dim(name->text, value && *value >= 0 ? *value : 1, name->span);
  }
  for (const auto& [name, value] : given) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    const SourceLocation place = node ? errors.source().location(node->span.begin) : errors.source().whole_file();
    errors.add_at(DiagnosticKind::unknown, place, node ? 1 : 0, "the model has no dim `" + name + "`" + errors.suggest(name, names));
  }
}

void read_inputs(const YamlNode& node, Evaluator& evaluator) {
  static const std::vector<std::string> kKeys = {"type", "value", "file"};
  const auto read = [&](const YamlEntry& entry, const std::optional<Name>& name, const std::optional<TensorType>& type) {
    if (!name) return;
    Operand operand;
    if (type) {
      Attributes attributes = read_initial_value(entry, *name, *type, 0, evaluator);
      operand = evaluator.tracer.input(name->text, *type, std::move(attributes), evaluator.location(name->span));
    }
    evaluator.scopes.bind(name->text, operand, name->span);
  };
  read_values(section_entries(node, "inputs", evaluator.errors), "", kKeys, evaluator, read);
}

void read_parameters(const YamlNode& node, Evaluator& evaluator) {
  static const std::vector<std::string> kKeys = {"type",       "like", "value",  "uniform", "normal", "truncated_normal",
                                                 "orthogonal", "he",   "xavier", "file",    "seed"};
  std::int64_t position = 0;
  const auto read = [&](const YamlEntry& entry, const std::optional<Name>& name, const std::optional<TensorType>& type) {
    if (!name) return;
    Operand operand;
    if (type) {
      Attributes attributes = read_initial_value(entry, *name, *type, position, evaluator);
      operand = evaluator.tracer.parameter(name->text, *type, std::move(attributes), evaluator.location(name->span));
    }
    evaluator.scopes.bind(name->text, operand, name->span);
    ++position;
  };
  read_values(section_entries(node, "parameters", evaluator.errors), "", kKeys, evaluator, read);
}

void read_file_key(const YamlNode& node, Attributes& attributes, Errors& errors) {
  if (node.broken()) return;
  const std::string given(trimmed(node.text));
  if (!node.scalar() || given.empty())
    return errors.add(DiagnosticKind::type, node.span, "`file` is the path of a file of " + std::string(detail::kDataFiles));
  const std::string path = errors.source().resolve(given);
  if (!detail::is_data_file(path))
    return errors.add(DiagnosticKind::file, node.span, "`" + given + "` is no file of " + std::string(detail::kDataFiles));
  attributes.set("file", path);  // the file is read, and reported if missing, only when the program runs
}

}  // namespace cleave::models
