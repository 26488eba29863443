// TraceContext: the trace in progress on a thread, through which Tensors reach their Tracer. It holds the tracing API's only thread-local
// pointer, by which `zeros(...)` and scopes find the trace. Internal to trace.h, control_flow.h and the functions of ops/; users do not
// name it.
#pragma once

#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/trace/tensor.h"
#include "graph/trace/tracer.h"

namespace cleave {

class TraceContext : public std::enable_shared_from_this<TraceContext> {
 public:
  explicit TraceContext(std::string name) : tracer_(std::in_place, std::move(name)) {}

  /// The innermost trace in progress on this thread, or null.
  static TraceContext* current();
  /// Makes `context` (or null) the current one and returns the previous one.
  static TraceContext* enter(TraceContext* context);

  [[nodiscard]] Tracer& tracer() { return *tracer_; }
  [[nodiscard]] bool open() const { return tracer_.has_value(); }
  /// Ends the trace and returns its graph. Its Tensors must not be used afterwards.
  Graph finish();
  void close() { tracer_.reset(); }

  /// The operand of a Tensor in this trace. A Tensor without a value or of another trace is reported at `here` and gives poison.
  Operand operand(const Tensor& tensor, const Here& here);
  Tensor tensor(Operand operand) { return {shared_from_this(), std::move(operand)}; }
  static const Operand& peek(const Tensor& tensor) { return tensor.operand_; }
  static std::optional<TensorType> type(const Tensor& tensor);

  /// Reports a mistake in the current trace, or on standard error if no trace is in progress.
  static void report(DiagnosticKind kind, const Here& here, std::string message);

 private:
  std::optional<Tracer> tracer_;
};

namespace detail {

/// Records `op` in the current trace. If no trace is in progress, reports that and returns void Tensors, as after a mistake.
std::vector<Tensor> apply(const OpDef& op, std::span<const Tensor> inputs, Attributes attributes, const Here& here);
Tensor call(const OpDef& op, std::initializer_list<Tensor> inputs, Attributes attributes, const Here& here);
Tensor call(const OpDef& op, std::span<const Tensor> inputs, Attributes attributes, const Here& here);

/// Records an operator, which messages name by its symbol.
Tensor operate(std::string_view symbol, const OpDef& op, std::initializer_list<Tensor> inputs, const Here& here);

/// `x.slice(...)` and `x[i]`.
Tensor slice(const Tensor& x, std::initializer_list<Pick> picks, const Here& here);

}  // namespace detail
}  // namespace cleave
