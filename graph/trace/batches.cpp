#include "graph/trace/batches.h"

#include "graph/trace/trace_context.h"

namespace cleave::detail {

BatchLoops::BatchLoops(const Tensor* arrays, std::size_t count, const BatchOptions& options, bool counts_rows, const Here& here)
    : options_(options), here_(here) {
  TraceContext* const context = TraceContext::current();
  if (!context) {
    TraceContext::report(DiagnosticKind::value, here, "`batches` outside of a trace");
    return;
  }
  context_ = context->shared_from_this();
  if (counts_rows && options.remainder != Remainder::pad) {
    TraceContext::report(DiagnosticKind::type, here,
                         "only with `Remainder::pad` the body takes the number of real rows: after a value for each of " +
                             std::to_string(count) + (count == 1 ? " array" : " arrays") + " comes the state");
    return;
  }
  const SourceLocation location = SourceLocation::from(here);
  std::vector<BatchReader::Source> sources;
  for (std::size_t i = 0; i < count; ++i) sources.push_back({context->operand(arrays[i], here), location});
  reader_.emplace(context->tracer(), std::move(sources), options, location, location);
}

bool BatchLoops::next() {
  if (!reader_ || !reader_->good()) return false;
  ++loop_;
  return loop_ == 0 || (loop_ == 1 && reader_->rest() > 0 && !context_->tracer().has_errors());
}

Tensor BatchLoops::trips() const {
  return Tensor(loop_ == 0 ? reader_->trips() : 1);
}

void BatchLoops::read(const Tensor& counter, Tensor* batch, Tensor* real_rows) const {
  const Operand trip = context_->operand(counter, here_);
  for (Operand& value : loop_ == 0 ? reader_->read(trip) : reader_->read_rest()) *batch++ = context_->tensor(std::move(value));
  if (options_.remainder == Remainder::pad) *real_rows = context_->tensor(reader_->real_rows(trip));
}

void BatchLoops::refuse_until() const {
  if (reader_->rest() > 0 && loop_ == 0)
    TraceContext::report(DiagnosticKind::unsupported, here_,
                         "`until` does not go with `Remainder::smaller`, whose last batch is behind the loop");
}

}  // namespace cleave::detail
