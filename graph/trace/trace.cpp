#include "graph/trace/trace.h"

#include "graph/base/exceptions.h"
#include "graph/trace/distribution.h"
#include "graph/trace/trace_context.h"

namespace cleave {
namespace {

Result<Attributes> attributes_of(const Init& init, const std::string& name, const TensorType& type) {
  if (const auto* random = std::get_if<Init::Random>(&init.value))
    return begin_with(random->distribution, random->numbers, random->seed, name, type);
  Attributes attributes;
  if (const auto* number = std::get_if<double>(&init.value)) attributes.set("value", *number);
  if (const auto* number = std::get_if<std::int64_t>(&init.value)) {
    constexpr std::int64_t kExact = std::int64_t{1} << 53;  // beyond it a double skips integers
    if (*number > -kExact && *number < kExact)
      attributes.set("value", static_cast<double>(*number));
    else
      attributes.set("value", *number);
  }
  if (const auto* array = std::get_if<Array>(&init.value)) attributes.set("value", *array);
  if (const auto* path = std::get_if<std::string>(&init.value)) attributes.set("file", *path);
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
  Result<Attributes> attributes = attributes_of(init, name, *resolved);
  if (!attributes) {
    TraceContext::report(DiagnosticKind::value, here, attributes.error().message);
    return context->tensor({});
  }
  return context->tensor(context->tracer().parameter(std::move(name), *resolved, *std::move(attributes), SourceLocation::from(here)));
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
  return context->tensor(context->tracer().rename(context->operand(x, here), name, SourceLocation::from(here)));
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
  std::vector<Tracer::Returned> returned;
  for (const Leaf& leaf : leaves) returned.push_back({leaf.name, context_->operand(*leaf.tensor, here_)});
  const std::vector<std::string> names = options.outputs.empty() ? context_->tracer().output_names(returned) : options.outputs;
  for (std::size_t i = 0; i < returned.size(); ++i) context_->tracer().output(names[i], returned[i].operand, SourceLocation::from(here_));
}

Graph TraceRecorder::finish(const TraceOptions& options) {
  Limits limits = options.limits;
  if (limits.any() && !limits.location.known()) limits.location = SourceLocation::from(here_);
  context_->tracer().set_limits(std::move(limits));
  Graph graph = context_->finish();
  if (options.diagnostics) options.diagnostics->append(graph.diagnostics);
  return graph;
}

}  // namespace detail
}  // namespace cleave
