#include "models/network.h"

#include <filesystem>

#include "graph/trace/trace_context.h"
#include "models/onnx/onnx_function.h"

namespace cleave {
namespace {

/// The trace in progress; null, with a report, if there is none.
TraceContext* trace_in_progress(const Here& here) {
  TraceContext* const context = TraceContext::current();
  if (!context) TraceContext::report(DiagnosticKind::unsupported, here, "a network is called while a function is traced");
  return context;
}

}  // namespace

Result<Network> Network::load(const std::string& path, const ModelOptions& options) {
  Result<std::shared_ptr<models::OnnxFunction>> function = models::OnnxFunction::open(path, options);
  if (function) return Network(*std::move(function), std::filesystem::path(path).stem().string());
  Error error = function.error();
  if (error.message.find(path) == std::string::npos) error.message = "`" + path + "`: " + error.message;
  return error;
}

std::vector<std::string> Network::names() const {
  std::vector<std::string> names;
  for (const auto& [name, type] : function_->weights()) names.push_back(name);
  return names;
}

std::vector<Tensor> Network::weights(const std::string& prefix, Here here) const {
  std::vector<Tensor> weights(function_->weights().size());
  TraceContext* const context = trace_in_progress(here);
  if (!context) return weights;
  const SourceLocation location = SourceLocation::from(here);
  Result<std::vector<Operand>> declared = function_->declare(context->tracer(), prefix, location);
  if (!declared) {
    context->tracer().error(DiagnosticKind::file, location, "cannot read the weights of `" + name_ + "`: " + declared.error().message);
    return weights;
  }
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = context->tensor(std::move((*declared)[i]));
  return weights;
}

Tensor Network::operator()(const std::vector<Tensor>& weights, std::initializer_list<Tensor> arguments, Here here) const {
  const std::vector<Tensor> results = this->results(weights, std::span(arguments.begin(), arguments.size()), here);
  if (results.size() == 1) return results.front();
  TraceContext::report(DiagnosticKind::type, here,
                       "`" + name_ + "` gives " + std::to_string(results.size()) + " results; `results` returns all of them");
  return {};
}

std::vector<Tensor> Network::results(const std::vector<Tensor>& weights, std::span<const Tensor> arguments, Here here) const {
  std::vector<Tensor> results(function_->results());
  TraceContext* const context = trace_in_progress(here);
  if (!context) return results;
  const SourceLocation location = SourceLocation::from(here);
  if (weights.size() != function_->weights().size()) {
    context->tracer().error(DiagnosticKind::type, location,
                            "`" + name_ + "` has " + std::to_string(function_->weights().size()) +
                                (function_->weights().size() == 1 ? " parameter, and " : " parameters, and ") +
                                std::to_string(weights.size()) + " are given; `weights` declares them");
    for (Tensor& result : results) result = context->tensor({});
    return results;
  }
  std::vector<Operand> operands, parameters;
  for (const Tensor& argument : arguments) operands.push_back(context->operand(argument, here));
  for (const Tensor& weight : weights) parameters.push_back(context->operand(weight, here));
  models::OnnxFunction::Called called = function_->call(context->tracer(), name_, operands, parameters, location);
  if (called.mistake) context->tracer().error(called.mistake->kind, location, called.mistake->message, called.mistake->notes);
  for (std::size_t i = 0; i < results.size(); ++i) results[i] = context->tensor(std::move(called.results[i]));
  return results;
}

}  // namespace cleave
