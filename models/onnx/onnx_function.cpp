#include "models/onnx/onnx_function.h"

#include <algorithm>
#include <set>

#include "graph/base/float_environment.h"
#include "models/onnx/dim_expression.h"

namespace cleave::models {
namespace {

using namespace onnx;

std::string quote(std::string_view name) {
  return "`" + std::string(name) + "`";
}

std::string element_type_text(const ValueInfo& info) {
  const std::optional<DType> dtype = carried_type(info.element_type);
  return dtype ? std::string(to_string(*dtype)) : element_type_name(info.element_type);
}

std::string key_of(std::span<const TensorType> types) {
  std::string key;
  for (const TensorType& type : types) key += to_string(type) + ";";
  return key;
}

}  // namespace

OnnxFunction::OnnxFunction(std::shared_ptr<const MappedFile> mapped, std::string path, const ModelOptions& options)
    : mapped_(std::move(mapped)), path_(std::move(path)), options_(options), file_(mapped_->bytes(), path_, options_) {}

Result<std::shared_ptr<OnnxFunction>> OnnxFunction::open(const std::string& path, const ModelOptions& options) {
  return opened(MappedFile::open(path), path, options);
}

Result<std::shared_ptr<OnnxFunction>> OnnxFunction::open(const RegularFile& file, const std::string& path, const ModelOptions& options) {
  return opened(MappedFile::open(file), path, options);
}

Result<std::shared_ptr<OnnxFunction>> OnnxFunction::opened(Result<std::shared_ptr<const MappedFile>> mapped, const std::string& path,
                                                           const ModelOptions& options) {
  if (!mapped) return mapped.error();
  if (Status whole = check_messages((*mapped)->bytes()); !whole) return whole.error();
  std::shared_ptr<OnnxFunction> function(new OnnxFunction(*std::move(mapped), path, options));
  if (std::string mistake = function->file_.version_mistake(); !mistake.empty()) return Error{std::move(mistake), {}};
  if (Status chosen = function->file_.choose_weights(); !chosen) return chosen.error();
  if (Status read = function->read_declarations(); !read) return read.error();
  return function;
}

Status OnnxFunction::read_declarations() {
  std::set<std::string_view> initialized;
  for_each(file_.model().graph, kGraphInitializer, [&](std::string_view bytes) { initialized.insert(parse_tensor(bytes).name); });
  for_each(file_.model().graph, kGraphSparseInitializer,
           [&](std::string_view bytes) { initialized.insert(parse_sparse_tensor(bytes).values.name); });
  for_each(file_.model().graph, kGraphInput, [&](std::string_view bytes) {
    const ValueInfo info = parse_value_info(bytes);
    if (initialized.contains(info.name)) return;
    const std::optional<DType> dtype = carried_type(info.element_type);
    takes_.push_back({std::string(info.name), dtype && info.dims ? declared_type(*dtype, *info.dims) : ""});
    inputs_.push_back(info);
  });
  for_each(file_.model().graph, kGraphOutput, [&](std::string_view) { ++results_; });
  for (const TensorProto& weight : file_.weights()) {
    Result<TensorType> type = Tensors::type(weight);
    if (!type) return Error{quote(weight.name) + " " + type.error().message, {}};
    weights_.emplace_back(std::string(weight.name), *std::move(type));
  }
  return {};
}

Status OnnxFunction::unchanged() const {
  const Status same = mapped_->unchanged();
  return same ? file_.unchanged() : same;
}

Result<std::vector<Operand>> OnnxFunction::declare(Tracer& tracer, const std::string& prefix, const SourceLocation& location) {
  std::vector<Operand> parameters;
  for (const TensorProto& weight : file_.weights()) {
    Result<Array> array = file_.read(weight);
    if (!array) return array.error();
    const TensorType type = array->type();
    Attributes attributes;
    attributes.set("value", *std::move(array));
    const std::string name(weight.name);
    parameters.push_back(tracer.parameter(prefix.empty() ? name : prefix + "." + name, type, std::move(attributes), location));
  }
  if (Status same = unchanged(); !same) return same.error();
  return parameters;
}

/// The mistake in the types of the arguments, or nothing. Open sizes of one name are equal in all inputs.
std::optional<std::string> OnnxFunction::mismatch(const std::string& name, std::span<const TensorType> given) const {
  std::map<std::string_view, std::pair<std::int64_t, std::string_view>> sizes;  // by name: the size and the input that has it
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const ValueInfo& info = inputs_[i];
    const std::string what = quote(info.name), text = takes_[i].type.empty() ? element_type_text(info) : takes_[i].type;
    const std::optional<DType> dtype = carried_type(info.element_type);
    if (info.kind != ValueInfo::Kind::tensor || !dtype) return quote(name) + " cannot be called: " + what + " is no array that cleave has";
    if (given[i].dtype != *dtype)
      return quote(name) + " takes " + text + " as " + what + ", not " + to_string(given[i]) + "; `astype` converts it";
    if (!info.dims) continue;
    const Shape& shape = given[i].shape;
    bool fits = shape.size() == info.dims->size();
    for (std::size_t axis = 0; fits && axis < shape.size(); ++axis) {
      const Dimension& dim = (*info.dims)[axis];
      fits = !dim.size || *dim.size == shape[axis];
      if (dim.size || dim.name.empty()) continue;
      const auto [known, added] = sizes.emplace(dim.name, std::pair(shape[axis], info.name));
      if (!added && known->second.first != shape[axis])
        return quote(name) + " takes one size " + quote(dim.name) + ", but it is " + std::to_string(known->second.first) + " in " +
               quote(known->second.second) + " and " + std::to_string(shape[axis]) + " in " + what;
    }
    if (!fits) return quote(name) + " takes " + text + " as " + what + ", not " + to_string(given[i]);
  }
  const SizeOf known = [&](std::string_view size) -> std::optional<std::int64_t> {
    const auto found = sizes.find(size);
    return found == sizes.end() ? std::nullopt : std::optional(found->second.first);
  };
  for (const auto& [size, where] : sizes)
    if (const auto follows = evaluate_dimension(size, known); !names_in_dimension(size).empty() && follows && *follows != where.first)
      return quote(name) + " takes " + std::to_string(*follows) + " as " + quote(size) + ", but it is " + std::to_string(where.first) +
             " in " + quote(where.second);
  return std::nullopt;
}

/// Reads the file for arguments of these types, once. The first mistake, at the call, with the place in the file in a note.
std::optional<Diagnostic> OnnxFunction::mistake_for(const std::string& name, std::span<const TensorType> given,
                                                    const SourceLocation& location) {
  std::string types = key_of(given);
  if (read_.contains(types)) return std::nullopt;
  options_.input_shapes.clear();
  for (std::size_t i = 0; i < inputs_.size(); ++i) options_.input_shapes.emplace(takes_[i].name, given[i].shape);
  ArmMistakes broken;
  const Graph alone = file_.graph(&broken);
  if (alone.ok()) {
    read_.emplace(std::move(types), std::move(broken));
    return std::nullopt;
  }
  const auto first = std::find_if(alone.diagnostics.begin(), alone.diagnostics.end(),
                                  [](const Diagnostic& each) { return each.severity == Severity::error; });
  Diagnostic mistake{first->kind, Severity::error, quote(name) + " cannot be called with these arguments: " + first->message, location, 0,
                     {}};
  mistake.notes.push_back({"in the file", first->location, first->length});
  mistake.notes.insert(mistake.notes.end(), first->notes.begin(), first->notes.end());
  if (alone.diagnostics.size() > 1) mistake.notes.push_back({"`cleave check " + path_ + "` shows all mistakes in the file", {}, 0});
  return mistake;
}

OnnxFunction::Called OnnxFunction::call(Tracer& tracer, const std::string& name, std::span<const Operand> arguments,
                                        std::span<const Operand> weights, const SourceLocation& location) {
  const StandardFloats standard;
  Called called{std::vector<Operand>(std::max<std::size_t>(results_, 1)), {}};
  const auto refuse = [&](DiagnosticKind kind, std::string message) {
    called.mistake = Diagnostic{kind, Severity::error, std::move(message), location, 0, {}};
    return called;
  };
  if (arguments.size() != inputs_.size()) {
    std::string names;
    for (const Argument& each : takes_) names += (names.empty() ? "" : ", ") + each.name;
    return refuse(DiagnosticKind::type, quote(name + "(" + names + ")") + " takes " + std::to_string(inputs_.size()) +
                                            (inputs_.size() == 1 ? " argument, not " : " arguments, not ") +
                                            std::to_string(arguments.size()));
  }
  CLEAVE_CHECK(weights.size() == weights_.size(), "one operand for each weight");
  std::map<std::string_view, Operand> given;
  std::vector<TensorType> types;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    Operand argument = arguments[i];
    if (const auto dtype = carried_type(inputs_[i].element_type); argument.literal && dtype)
      argument = tracer.materialize(argument, location, *dtype);
    const TensorType* type = tracer.type(argument);
    if (!type) return called;  // reported where it was made
    types.emplace_back(*type);
    given.emplace(inputs_[i].name, argument);
  }
  for (std::size_t i = 0; i < weights_.size(); ++i) {
    const TensorType* type = tracer.type(weights[i]);
    if (!type) return called;
    if (*type != weights_[i].second)
      return refuse(DiagnosticKind::type, "the parameter " + quote(weights_[i].first) + " of " + quote(name) + " is " +
                                              to_string(weights_[i].second) + ", not " + to_string(*type));
    given.emplace(weights_[i].first, weights[i]);
  }
  if (const auto wrong = mismatch(name, types)) return refuse(DiagnosticKind::type, *wrong);
  called.mistake = mistake_for(name, types, location);
  if (const Status same = unchanged(); !same)
    return refuse(DiagnosticKind::file, quote(name) + " cannot be called: " + same.error().message);
  if (called.mistake) return called;
  tracer.push_scope(name, location);
  const Values results = file_.record(tracer, given, read_.at(key_of(types)));
  tracer.pop_scope();
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (results[i].sequence || results[i].absent)
      return refuse(DiagnosticKind::unsupported, quote(name) + " gives a sequence or an optional value; a program cannot call it");
    called.results[i] = results[i].part.operand();
  }
  return called;
}

}  // namespace cleave::models
