// `include: optimizers.yaml`: functions from other files, which are found beside the model or in the library that is part of cleave.
#include <algorithm>
#include <filesystem>

#include "graph/base/file.h"
#include "graph/base/named_file.h"
#include "models/reader/declarations.h"
#include "models/reader/functions.h"
#include "models/reader/library_files.h"
#include "models/reader/yaml_tree.h"

namespace cleave::models {
namespace {

struct IncludedFile {
  std::string path, text;
};

/// The file of the library whose name is `name`; null: none.
const EmbeddedText* find_in_library(std::string_view name) {
  const std::span<const EmbeddedText> files = library_files();
  const auto found =
      std::find_if(files.begin(), files.end(), [&](const EmbeddedText& file) { return name == std::string(file.name) + ".yaml"; });
  return found == files.end() ? nullptr : &*found;
}

std::optional<IncludedFile> open_included(const std::string& name, Span span, Errors& errors) {
  const std::string path = errors.source().resolve(name);
  std::error_code failure;
  if (const EmbeddedText* file = find_in_library(name); file && !std::filesystem::exists(path, failure))
    return IncludedFile{"share/cleave/" + name, std::string(file->text)};
  const FileRoots roots(*errors.source().whole_file().file);
  const Result<RegularFile> opened = roots.open(name);
  const Result<std::string> text = opened ? opened->read(file_limit::kModel) : Result<std::string>(opened.error());
  if (text) return IncludedFile{path, *text};
  errors.add(DiagnosticKind::file, span, "cannot include `" + name + "`: " + text.error().message);
  return std::nullopt;
}

/// Moves the spans of a tree behind `begin`.
void shift(YamlNode& node, std::size_t begin) {
  node.span.begin += begin;
  node.span.end += begin;
  for (YamlNode& item : node.items) shift(item, begin);
  for (YamlEntry& entry : node.entries) {
    shift(entry.key, begin);
    shift(entry.value, begin);
  }
}

void include(const YamlNode& name, Functions& functions, Source& source, Errors& errors) {
  const std::string given(trimmed(name.text));
  if (!name.scalar() || !given.ends_with(".yaml"))
    return errors.add(DiagnosticKind::file, name.span, "`include` names a file of functions, such as `optimizers.yaml`");
  const std::optional<IncludedFile> file = open_included(given, name.span, errors);
  if (!file) return;
  const Source alone(file->text, file->path);
  Errors found(alone);
  std::optional<YamlNode> root = parse_yaml(alone, found);
  errors.add_all(found, errors.note(name.span, "included here"));
  if (!root || found.any()) return;
  shift(*root, source.append(file->text, file->path));
  if (!root->map()) return errors.add(DiagnosticKind::syntax, root->span, "an included file is a map: `functions:` with functions");
  for (const YamlEntry& entry : root->entries) {
    if (entry.key.text == "functions") {
      Functions read;
      read_functions(entry.value, read, errors);
      for (auto& [key, function] : read) function.included = true;
      functions.merge(read);  // those that are known already stay
    } else if (entry.key.text != "cleave") {
      errors.add(DiagnosticKind::unsupported, entry.key.span, "an included file has `functions:` alone",
                 {errors.note(name.span, "included here")});
    }
  }
}

}  // namespace

void read_includes(const YamlNode& node, Functions& functions, Source& source, Errors& errors) {
  if (!node.list()) return include(node, functions, source, errors);
  for (const YamlNode& item : node.items) include(item, functions, source, errors);
}

}  // namespace cleave::models
