#include "graph/trace/trace.h"

#include <map>

#include "graph/base/exceptions.h"
#include "graph/trace/trace_context.h"

namespace cleave {
namespace {

Attributes attributes_of(const Init& init) {
  Attributes attributes;
  if (const auto* number = std::get_if<double>(&init.value)) attributes.set("value", *number);
  if (const auto* array = std::get_if<Array>(&init.value)) attributes.set("value", *array);
  if (const auto* path = std::get_if<std::string>(&init.value)) attributes.set("file", *path);
  if (const auto* random = std::get_if<Init::Random>(&init.value)) {
    attributes.set(random->distribution, std::vector<double>{random->first, random->second});
    attributes.set("seed", random->seed);
  }
  return attributes;
}

}  // namespace

std::optional<TensorType> detail::resolve(const TypeSpec& spec, const Here& here) {
  if (spec.malformed.empty()) return spec.type;
  TraceContext::report(DiagnosticKind::type, here, "`" + spec.malformed + "` is no tensor type; write for example `f32[4, 2]` or `i32[]`");
  return std::nullopt;
}

TypeSpec::TypeSpec(const char* text) {
  if (std::optional<TensorType> parsed = parse_tensor_type(text))
    type = *std::move(parsed);
  else
    malformed = *text ? text : " ";
}

Tensor parameter(std::string name, const TypeSpec& type, const Init& init, Here here) {
  here = here.of("parameter");
  TraceContext* context = TraceContext::current();
  if (!context) TraceContext::report(DiagnosticKind::value, here, "`parameter` outside of a trace");
  const std::optional<TensorType> resolved = detail::resolve(type, here);
  if (!context || !resolved) return {};
  if (const auto* array = std::get_if<Array>(&init.value); array && array->type() != *resolved) {
    TraceContext::report(DiagnosticKind::shape, here,
                         "`" + name + "` is " + to_string(*resolved) + " but begins as " + to_string(array->type()));
    return context->tensor({});
  }
  return context->tensor(context->tracer().parameter(std::move(name), *resolved, attributes_of(init), SourceLocation::from(here)));
}

Tensor constant(Array value, Here here) {
  here = here.of("constant");
  TraceContext* context = TraceContext::current();
  if (!context) TraceContext::report(DiagnosticKind::value, here, "`constant` outside of a trace");
  return context ? context->tensor(context->tracer().constant(std::move(value), SourceLocation::from(here))) : Tensor();
}

Tensor named(std::string_view name, const Tensor& x, Here here) {
  here = here.of("named");
  TraceContext* context = TraceContext::current();
  if (!context) TraceContext::report(DiagnosticKind::value, here, "`named` outside of a trace");
  if (!context) return x;
  const Operand operand = context->operand(x, here);
  context->tracer().name(operand, name);
  if (operand.value.valid() && context->tracer().graph().values[operand.value].name == name) context->remember_name(operand, here);
  return x;
}

namespace detail {

Graph without_memory(const std::string& name, const Here& here, const TraceOptions& options) {
  Graph graph;
  graph.name = name;
  graph.diagnostics.error(DiagnosticKind::machine, SourceLocation::from(here.of("trace")), out_of_memory().message);
  if (options.diagnostics) options.diagnostics->append(graph.diagnostics);
  return graph;
}

TraceRecorder::TraceRecorder(std::string name, const Here& here)
    : context_(std::make_shared<TraceContext>(std::move(name))), before_(TraceContext::enter(context_.get())), here_(here.of("trace")) {}

TraceRecorder::~TraceRecorder() {
  TraceContext::enter(before_);
  context_->close();
}

std::vector<Tensor> TraceRecorder::inputs(const Input* inputs, std::size_t count) {
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; i < count; ++i) {
    const Input& input = inputs[i];
    Operand operand;
    Attributes attributes;
    if (!input.file.empty()) attributes.set("file", input.file);
    if (std::optional<TensorType> type = detail::resolve(input.type, input.here))
      operand = context_->tracer().input(input.name, *std::move(type), std::move(attributes), SourceLocation::from(input.here));
    tensors.push_back(context_->tensor(std::move(operand)));
  }
  return tensors;
}

void TraceRecorder::outputs(const std::vector<Leaf>& leaves, const TraceOptions& options) {
  if (!options.outputs.empty() && options.outputs.size() != leaves.size()) {
    TraceContext::report(
        DiagnosticKind::value, here_,
        "`outputs` names " + std::to_string(options.outputs.size()) + " values, but the function returns " + std::to_string(leaves.size()));
    return;
  }
  std::map<std::string, ValueId> taken;
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    const Operand operand = context_->operand(*leaves[i].tensor, here_);
    std::string name = options.outputs.empty() ? leaves[i].name : options.outputs[i];
    if (name.empty() && operand.value.valid()) name = context_->tracer().graph().values[operand.value].name;
    const auto before = taken.find(name);
    const bool again = options.outputs.empty() && before != taken.end();
    const Here* named = again && before->second != operand.value ? context_->where_named(operand) : nullptr;
    if (named) TraceContext::report(DiagnosticKind::value, *named, "`" + name + "` is the name of another output already");
    // A name that the user did not give as one of an output gives way to another.
    if (name.empty() || again) name = "output" + std::to_string(i);
    taken.emplace(name, operand.value);
    context_->tracer().output(std::move(name), operand, SourceLocation::from(here_));
  }
}

Graph TraceRecorder::finish(const TraceOptions& options) {
  Limits limits = options.limits;
  const bool any = limits.round_trips || limits.transfers || limits.bytes_per_run;
  if (any && !limits.location.known()) limits.location = SourceLocation::from(here_);
  context_->tracer().set_limits(std::move(limits));
  Graph graph = context_->finish();
  if (options.diagnostics) options.diagnostics->append(graph.diagnostics);
  return graph;
}

}  // namespace detail
}  // namespace cleave
