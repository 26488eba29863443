#include "graph/trace/scope.h"

#include "graph/trace/trace_context.h"

namespace cleave {
namespace {

std::shared_ptr<TraceContext> context_for(std::string_view what, const Here& here) {
  if (TraceContext* context = TraceContext::current()) return context->shared_from_this();
  TraceContext::report(DiagnosticKind::value, here, "`" + std::string(what) + "` outside of a trace");
  return nullptr;
}

}  // namespace

Scope::Scope(std::shared_ptr<TraceContext> context, void (Tracer::*end)()) : context_(std::move(context)), end_(end) {}

Scope::~Scope() {
  if (context_ && context_->open()) (context_->tracer().*end_)();
}

Scope scope(std::string label, Here here) {
  here = here.of("scope");
  std::shared_ptr<TraceContext> context = context_for("scope", here);
  if (context) context->tracer().push_scope(std::move(label), SourceLocation::from(here));
  return {std::move(context), &Tracer::pop_scope};
}

Scope place(Device device, Here here) {
  here = here.of("place");
  std::shared_ptr<TraceContext> context = context_for("place", here);
  if (context) context->tracer().push_place(device);
  return {std::move(context), &Tracer::pop_place};
}

Scope recompute(bool again, Here here) {
  here = here.of("recompute");
  std::shared_ptr<TraceContext> context = context_for("recompute", here);
  if (context) context->tracer().push_recompute(again ? Recompute::always : Recompute::never);
  return {std::move(context), &Tracer::pop_recompute};
}

Scope allow(DiagnosticKind kind, std::string reason, Here here) {
  here = here.of("allow");
  std::shared_ptr<TraceContext> context = context_for("allow", here);
  if (context && info(kind).always_error)
    context->tracer().error(DiagnosticKind::value, SourceLocation::from(here),
                            "`" + std::string(info(kind).name) + "` is an error and cannot be allowed");
  if (context) context->tracer().push_allow({kind, std::move(reason)});
  return {std::move(context), &Tracer::pop_allow};
}

}  // namespace cleave
