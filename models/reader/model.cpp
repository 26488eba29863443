// Reads a model file in order: YAML, declarations, program, outputs, limits.
#include "models/reader/model_file.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include "graph/base/exceptions.h"
#include "graph/base/file.h"
#include "graph/base/float_environment.h"
#include "graph/base/spelling.h"
#include "graph/states.h"
#include "models/failed.h"
#include "models/reader/declarations.h"
#include "models/reader/limits.h"
#include "models/reader/program.h"
#include "models/reader/yaml_tree.h"

namespace cleave {
namespace {

using namespace models;

const std::vector<std::string>& sections() {
  static const std::vector<std::string> names = {"cleave",  "model",   "dims",   "inputs",   "parameters", "functions", "host_functions",
                                                 "program", "outputs", "limits", "resident", "include",    "models"};
  return names;
}

bool known_section(std::string_view key) {
  return std::find(sections().begin(), sections().end(), key) != sections().end();
}

/// The section that an unknown key was probably meant to be: the nearest by name, or `program` if its value is a list of statements; empty:
/// none.
std::string meant_section(const YamlNode& root, const YamlEntry& entry) {
  const std::optional<std::string> near = nearest_name(entry.key.text, sections());
  if (near && !root.find(*near)) return *near;
  const bool statements = entry.value.list() && !entry.value.flow && !root.find("program");
  return !near && statements ? "program" : "";
}

/// Whether a section lacks its colon, as `outputs [y]` or `dims {n: 4}`, which YAML reads as a key with a blank in it. Reports it; the
/// value of such a section is not read.
bool lacks_colon(const YamlNode& root, Errors& errors) {
  for (const YamlEntry& entry : root.entries) {
    const std::string word(entry.key.text, 0, entry.key.text.find(' '));
    if (word.size() == entry.key.text.size() || !known_section(word)) continue;
    errors.add(DiagnosticKind::syntax, {entry.key.span.begin, entry.key.span.begin + word.size()}, missing_colon(word));
    return true;
  }
  return false;
}

/// The sections by name, misspelled ones under the intended name, so that one mistake is one error.
using Sections = std::map<std::string, const YamlEntry*, std::less<>>;

Sections find_sections(const YamlNode& root, Errors& errors) {
  Sections found;
  for (const YamlEntry& entry : root.entries) {
    if (known_section(entry.key.text)) {
      found[entry.key.text] = &entry;
      continue;
    }
    const std::string meant = meant_section(root, entry);
    if (!meant.empty()) found.emplace(meant, &entry);
    std::string advice = errors.suggest(entry.key.text, sections());
    if (advice.empty() && !meant.empty()) advice = "; the list of statements is `" + meant + ":`";
    errors.add(DiagnosticKind::unknown, entry.key.span, "unknown key `" + entry.key.text + "` of a model" + advice);
  }
  return found;
}

/// Names declared in a section that was not read are bound as unknown, so that their uses are not reported again.
void bind_unknown_sections(const YamlNode& root, const Sections& sections, Evaluator& evaluator) {
  for (const YamlEntry& entry : root.entries) {
    if (std::any_of(sections.begin(), sections.end(), [&](const auto& read) { return read.second == &entry; })) continue;
    for (const YamlEntry& declared : entry.value.entries) {
      evaluator.unreadable.insert(declared.key.text);
      if (!evaluator.scopes.find(declared.key.text)) evaluator.scopes.bind_unknown(declared.key.text, declared.key.span);
    }
  }
}

void check_version(const YamlEntry& entry, Errors& errors) {
  if (entry.value.broken() || trimmed(entry.value.text) == "1") return;
  errors.add(DiagnosticKind::unsupported, entry.value.span, "this version of cleave reads models with `cleave: 1`");
}

std::string model_name(const YamlNode& root, const std::string& file, Errors& errors) {
  const std::string stem = std::filesystem::path(file).stem().string();
  const YamlEntry* entry = root.find("model");
  if (!entry || entry->value.broken()) return stem;
  const std::string name(trimmed(entry->value.text));
  if (entry->value.scalar() && !name.empty()) return name;
  errors.add(DiagnosticKind::type, entry->value.span, "`model` is the name of the model");
  return stem;
}

/// `written`, with each group replaced by its members.
std::vector<Name> with_members(const std::vector<Name>& written, Evaluator& evaluator) {
  std::vector<Name> names;
  for (const Name& name : written) {
    const std::vector<std::string>* members = evaluator.scopes.find(name.text) ? nullptr : evaluator.scopes.find_group(name.text);
    if (!members) names.push_back(name);
    if (!members) continue;
    for (const std::string& member : *members) names.push_back({name.text + "." + member, name.span});
  }
  return names;
}

void read_outputs(const YamlNode& node, Evaluator& evaluator) {
  const auto written = parse_name_list(node, evaluator.errors);
  if (!written) return;
  for (const Name& name : with_members(*written, evaluator)) {
    const Binding* binding = evaluator.scopes.find(name.text);
    if (binding) {
      evaluator.tracer.output(name.text, binding->operand, evaluator.location(name.span));
    } else if (!evaluator.exhausted()) {
      std::vector<Note> notes;
      const std::string* apart = evaluator.scopes.apart(name.text);
      if (const auto place = evaluator.scopes.ended(name.text); place && !apart) {
        notes.push_back(evaluator.errors.note(
            *place, "a name first bound inside a loop, branch or function stays there; bind it before to carry it out"));
      }
      const std::string suggestion = apart           ? "; " + *apart
                                     : notes.empty() ? evaluator.errors.suggest(name.text, evaluator.scopes.visible())
                                                     : "";
      evaluator.fail(DiagnosticKind::unknown, name.span, "unknown name `" + name.text + "`" + suggestion, std::move(notes));
    }
  }
}

/// Reads `resident:`: parameters and inputs whose last binding is the initial value of the next run. Adds outputs of the same names.
void read_resident(const YamlNode& node, Evaluator& evaluator, std::vector<std::string>& states) {
  const auto written = parse_name_list(node, evaluator.errors);
  if (!written) return;
  const Graph& graph = evaluator.tracer.graph();
  std::vector<std::string> given;
  for (const Node& each : graph.nodes)
    if (each.kind == NodeKind::input || each.kind == NodeKind::parameter) given.push_back(graph.values[each.results[0]].name);
  for (const Name& name : with_members(*written, evaluator)) {
    const Binding* binding = evaluator.scopes.find(name.text);
    if (std::find(given.begin(), given.end(), name.text) == given.end() || !binding) {
      if (!evaluator.exhausted())
        evaluator.fail(
            DiagnosticKind::unknown, name.span,
            "`resident` names parameters and inputs, and `" + name.text + "` is none" + evaluator.errors.suggest(name.text, given));
      continue;
    }
    states.push_back(name.text);
    const auto& outputs = graph.outputs;
    if (std::none_of(outputs.begin(), outputs.end(), [&](const Output& output) { return output.name == name.text; }))
      evaluator.tracer.output(name.text, binding->operand, evaluator.location(name.span));
  }
}

/// Makes values persistent between runs; each must keep its type.
void keep_states(Graph& graph, const std::vector<std::string>& states) {
  for (const std::string& name : states) {
    if (keep_state(graph, name, name)) continue;
    const auto output = std::find_if(graph.outputs.begin(), graph.outputs.end(), [&](const Output& each) { return each.name == name; });
    const auto leaf = std::find_if(graph.nodes.begin(), graph.nodes.end(), [&](const Node& each) {
      return (each.kind == NodeKind::input || each.kind == NodeKind::parameter) && graph.values[each.results[0]].name == name;
    });
    if (output == graph.outputs.end() || leaf == graph.nodes.end()) continue;
    graph.diagnostics.error(DiagnosticKind::type, output->location,
                            "`" + name + "` is resident and has to keep its type: a run begins with " +
                                to_string(graph.values[leaf->results[0]].type) + " and ends with " +
                                to_string(graph.values[output->value].type));
  }
}

/// Remarks on each name that is also an operation's. The program's name wins, so that a new operation breaks no program.
void remark_own_names(const YamlNode& section, const char* what, Errors& errors) {
  for (const YamlEntry& entry : section.entries) {
    if (!find_function(entry.key.text)) continue;
    errors.remark(DiagnosticKind::value, entry.key.span,
                  "`" + entry.key.text + "` is the name of an operation, too; here it means this " + what);
  }
}

/// Checks calls in all functions, including functions that are never called.
void check_calls(const Functions& functions, Evaluator& evaluator) {
  for (const auto& [name, function] : functions) {
    for_each_expression(function.body, [&](const Expression& expression) {
      for (const ExpressionNode& node : expression.nodes) {
        if (node.kind != ExpressionNode::Kind::call) continue;
        const ExpressionNode& called = callee(expression, node);
        evaluator.check_callee(called.text, called.span);
      }
    });
  }
}

/// Reads all sections after the YAML itself is parsed.
void read_sections(const YamlNode& root, const ModelOptions& options, Tracer& tracer, Source& source, Errors& errors,
                   std::vector<std::string>& states) {
  Scopes scopes;
  HostFunctions host_functions;
  Evaluator evaluator{tracer, scopes, errors, host_functions};
  if (lacks_colon(root, errors)) return;
  if (const YamlEntry* accelerators = root.find("accelerators"); accelerators && !root.find("program"))
    return errors.add(DiagnosticKind::syntax, accelerators->key.span, "this is a machine file, no model; pass it with `--machine`");
  const auto sections = find_sections(root, errors);
  const auto section = [&](std::string_view key) {
    const auto found = sections.find(key);
    return found != sections.end() ? &found->second->value : nullptr;
  };
  if (const YamlEntry* version = root.find("cleave")) check_version(*version, errors);
  read_dims(section("dims"), options.dims, evaluator);
  if (const YamlNode* node = section("host_functions")) host_functions = read_host_functions(*node, evaluator);
  Functions functions;
  if (const YamlNode* node = section("functions")) read_functions(*node, functions, errors);
  if (const YamlNode* node = section("include")) read_includes(*node, functions, source, errors);
  check_gradients(functions, evaluator);
  check_recursion(functions, errors);
  for (const auto& [key, what] : {std::pair("functions", "function"), {"host_functions", "host function"}, {"models", "model"}}) {
    const YamlNode* node = section(key);
    if (!node) continue;
    for (const YamlEntry& entry : node->entries) evaluator.unreadable.insert(entry.key.text);  // readable functions are found first
    remark_own_names(*node, what, errors);
  }
  for (const auto& [name, function] : functions) {
    if (host_functions.contains(name)) errors.add(DiagnosticKind::value, function.name.span, "`" + name + "` is a host function already");
  }
  if (const YamlNode* node = section("models")) read_models(*node, options, evaluator);
  for (const auto& [name, model] : evaluator.models)
    if (functions.contains(name) || host_functions.contains(name))
      errors.add(DiagnosticKind::value, section("models")->find(name)->key.span, "`" + name + "` is a function already");
  if (const YamlNode* node = section("inputs")) read_inputs(*node, evaluator);
  if (const YamlNode* node = section("parameters")) read_parameters(*node, evaluator);
  bind_unknown_sections(root, sections, evaluator);

  Program program(evaluator, functions);
  evaluator.inliner = &program;
  check_calls(functions, evaluator);
  if (const YamlNode* node = section("program")) {
    program.run(parse_statements(*node, "program", errors));
  } else {
    errors.add(DiagnosticKind::syntax, root.span, "a model needs `program:`, a list of statements");
  }
  if (const YamlNode* node = section("models")) warn_of_uncalled_models(*node, evaluator);
  if (const YamlNode* node = section("outputs")) read_outputs(*node, evaluator);
  if (const YamlNode* node = section("resident")) read_resident(*node, evaluator, states);
  if (const YamlNode* node = section("limits")) tracer.set_limits(read_limits(*node, evaluator));
}

Graph parse(std::string_view text, const std::string& file, const ModelOptions& options) {
  Source source(text, file);
  Errors errors(source);
  const auto root = parse_yaml(source, errors);
  if (root && !root->map() && !root->broken()) {
    errors.add(DiagnosticKind::syntax, root->span, "a model is a map of sections: `inputs:`, `program:`, `outputs:`, …");
  }
  if (!root || !root->map()) return failed(file, errors.found());
  Tracer tracer(model_name(*root, file, errors));
  std::vector<std::string> states;
  read_sections(*root, options, tracer, source, errors, states);
  if (!errors.any() && !tracer.has_errors()) {
    Graph graph = tracer.finish_written();
    if (graph.ok()) keep_states(graph, states);
    graph.diagnostics.append(errors.remarks());
    return graph;
  }
  Diagnostics all = tracer.graph().diagnostics;
  all.append(errors.found());
  return failed(file, std::move(all));
}

Graph read(const std::string& path, const ModelOptions& options) {
  const Result<std::string> text = read_file(path);
  return text ? parse(*text, path, options) : unreadable(path, text.error());
}

}  // namespace

namespace models {

Graph read_yaml(const std::string& path, const ModelOptions& options) {
  const StandardFloats standard;
  return detail::guard_memory_or([&] { return read(path, options); }, [&] { return without_memory(path); });
}

}  // namespace models

Graph parse_model(std::string_view text, const std::string& file, const ModelOptions& options) {
  const StandardFloats standard;
  return detail::guard_memory_or([&] { return parse(text, file, options); }, [&] { return without_memory(file); });
}

}  // namespace cleave
