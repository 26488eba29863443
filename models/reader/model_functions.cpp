// `models: {net: net.onnx}`: ONNX files that the program calls like functions, `net(x)`, and whose weights are a group of parameters,
// `net`.
#include <algorithm>
#include <map>

#include "graph/base/named_file.h"
#include "graph/base/spelling.h"
#include "models/onnx/onnx_function.h"
#include "models/reader/declarations.h"
#include "models/reader/evaluation.h"
#include "models/reader/functions.h"

namespace cleave::models {
namespace {

constexpr std::string_view kParameters = "parameters", kHostFunctions = "host_functions";

/// The patterns of `parameters:`: one, or a list of them. `none` gives an empty list.
std::optional<std::vector<std::string>> patterns_of(const YamlNode& node, Errors& errors) {
  std::vector<const YamlNode*> nodes;
  if (node.list())
    for (const YamlNode& item : node.items) nodes.push_back(&item);
  else
    nodes.push_back(&node);
  std::vector<std::string> patterns;
  for (const YamlNode* item : nodes) {
    const std::string text(trimmed(item->text));
    if (item->broken()) return std::nullopt;
    if (!item->scalar() || text.empty()) {
      errors.add(DiagnosticKind::type, item->span, "`parameters` is `all`, `none`, a name, a pattern such as `fc.*`, or a list of them");
      return std::nullopt;
    }
    patterns.push_back(text);
  }
  if (patterns == std::vector<std::string>{"none"}) patterns.clear();
  return patterns;
}

/// Host functions of the program that compute operators of the file: `{com.acme.Clamp: clamp}`. Nothing after a mistake.
std::optional<std::map<std::string, OperatorFunction>> operators_of(const YamlNode& node, const Evaluator& evaluator) {
  Errors& errors = evaluator.errors;
  if (!node.map()) {
    if (!node.broken())
      errors.add(DiagnosticKind::type, node.span,
                 "`host_functions` has operators of the file and host functions, such as {com.acme.Clamp: clamp}");
    return std::nullopt;
  }
  std::map<std::string, OperatorFunction> operators;
  for (const YamlEntry& entry : node.entries) {
    const std::string name(trimmed(entry.value.text));
    const auto found = evaluator.host_functions.find(name);
    if (!entry.value.scalar() || found == evaluator.host_functions.end()) {
      std::vector<std::string> known;
      for (const auto& [each, function] : evaluator.host_functions) known.push_back(each);
      if (!entry.value.broken())
        errors.add(DiagnosticKind::unknown, entry.value.span,
                   "there is no host function `" + name + "`" + did_you_mean_or_has(name, known));
      return std::nullopt;
    }
    operators.emplace(entry.key.text, [function = found->second](const OperatorNode&) -> Result<HostFunction> { return *function; });
  }
  return operators;
}

/// Opens the file of one entry; null after a mistake, which is reported at the file's name or at the patterns.
std::shared_ptr<OnnxFunction> opened(const YamlEntry& entry, const ModelOptions& given, Evaluator& evaluator) {
  static const std::vector<std::string> kKeys = {"file", std::string(kParameters), std::string(kHostFunctions)};
  Errors& errors = evaluator.errors;
  const YamlNode* file = &entry.value;
  const YamlNode* patterns = nullptr;
  ModelOptions options{.parameters = {"all"}, .source_roots = given.source_roots};
  if (entry.value.map()) {
    check_keys(entry, kKeys, "`" + entry.key.text + "`", errors);
    const YamlEntry* named = entry.value.find("file");
    if (!named) {
      if (!may_be_misspelt(entry, "file", kKeys))
        errors.add(DiagnosticKind::syntax, entry.key.span, "`" + entry.key.text + "` needs `file:`, the path of an .onnx file");
      return nullptr;
    }
    file = &named->value;
    if (const YamlEntry* chosen = entry.value.find(kParameters)) {
      patterns = &chosen->value;
      const auto read = patterns_of(*patterns, errors);
      if (!read) return nullptr;
      options.parameters = *read;
    }
    if (const YamlEntry* functions = entry.value.find(kHostFunctions)) {
      auto operators = operators_of(functions->value, evaluator);
      if (!operators) return nullptr;
      options.host_functions = *std::move(operators);
    }
  }
  const std::string name(trimmed(file->text));
  if (file->broken()) return nullptr;
  if (!file->scalar() || !name.ends_with(".onnx")) {
    errors.add(DiagnosticKind::file, file->span, "a model that a program calls is an ONNX file, such as `net.onnx`");
    return nullptr;
  }
  const FileRoots roots(*errors.source().whole_file().file);
  const Result<RegularFile> found = roots.open(name);
  if (!found) {
    errors.add(DiagnosticKind::file, file->span, found.error().message);
    return nullptr;
  }
  Result<std::shared_ptr<OnnxFunction>> function = OnnxFunction::open(*found, errors.source().resolve(name), options);
  if (function) return *std::move(function);
  errors.add(function.error().kind == ErrorKind::file ? DiagnosticKind::file : DiagnosticKind::value,
             patterns ? patterns->span : file->span, "`" + name + "`: " + function.error().message);
  return nullptr;
}

}  // namespace

void read_models(const YamlNode& node, const ModelOptions& options, Evaluator& evaluator) {
  for (const YamlEntry& entry : section_entries(node, "models", evaluator.errors)) {
    const auto name = declared_name(entry.key, evaluator.errors);
    if (!name) continue;
    std::shared_ptr<OnnxFunction> function = opened(entry, options, evaluator);
    const auto parameters = function ? function->declare(evaluator.tracer, name->text, evaluator.location(name->span))
                                     : Result<std::vector<Operand>>(Error{"", {}});
    if (!parameters) {
      if (function) evaluator.fail(DiagnosticKind::file, entry.value.span, "cannot read the weights: " + parameters.error().message);
      evaluator.scopes.bind_unknown(name->text, name->span);
      continue;
    }
    std::vector<std::string> members;
    for (std::size_t i = 0; i < parameters->size(); ++i) {
      members.push_back(function->weights()[i].first);
      evaluator.scopes.bind(name->text + "." + members.back(), (*parameters)[i], name->span);
    }
    if (!members.empty()) evaluator.scopes.bind_group(name->text, std::move(members));
    evaluator.models.emplace(name->text, std::move(function));
  }
}

void warn_of_uncalled_models(const YamlNode& section, Evaluator& evaluator) {
  for (const auto& [name, function] : evaluator.models) {
    if (evaluator.called_models.contains(name)) continue;
    evaluator.errors.warn(DiagnosticKind::unused, section.find(name)->key.span, "the model `" + name + "` is never called");
    for (const auto& [weight, type] : function->weights())
      if (const Binding* binding = evaluator.scopes.find(name + "." + weight)) evaluator.tracer.note_type_asked(binding->operand);
  }
}

PlannedCall Evaluation::plan_model(const ExpressionNode& node, const OnnxFunction& function) {
  std::vector<Parameter> takes;
  for (const OnnxFunction::Argument& argument : function.takes()) takes.push_back({{argument.name, {}}, std::nullopt});
  std::optional<Index> weights;
  PlannedCall planned = plan_names(node, takes, [&](const std::string& keyword, Index part) {
    if (keyword == kParameters) weights = part;
    return keyword == kParameters;
  });
  if (planned.kind == PlannedCall::Kind::failed) return planned;
  planned.weights = weights;
  planned.kind = PlannedCall::Kind::model;
  return planned;
}

Arguments Evaluator::call_model(const std::string& name, const Operands& operands, const Argument* weights, Span call) {
  OnnxFunction& function = *models.find(name)->second;
  Arguments results(std::max<std::size_t>(function.results(), 1));
  Operands parameters;
  for (const auto& [weight, type] : function.weights()) {
    const Operand* operand = nullptr;
    if (weights) {
      operand = weights->members ? weights->find(weight) : nullptr;
    } else if (const Binding* binding = scopes.find(name + "." + weight)) {
      operand = &binding->operand;
    }
    if (operand) {
      parameters.push_back(*operand);
      continue;
    }
    if (weights && weights->poisoned()) return results;
    fail(DiagnosticKind::unknown, call,
         weights ? "`parameters` is a group with the parameters of `" + name + "`; this one has no `" + weight + "`"
                 : "a function sees what it takes: add `" + name + "` to `takes:` and to the call, or give its parameters by `" + name +
                       "(…, parameters=…)`");
    return results;
  }
  called_models.insert(name);
  const OnnxFunction::Called called = function.call(tracer, name, operands, parameters, location(call));
  if (called.mistake) fail(called.mistake->kind, call, called.mistake->message, called.mistake->notes);
  for (std::size_t i = 0; i < results.size() && i < called.results.size(); ++i) results[i].operand = called.results[i];
  return results;
}

}  // namespace cleave::models
