#include "graph/trace/control_flow.h"

#include "graph/trace/trace_context.h"

namespace cleave::detail {
namespace {

/// The location where the value was computed, at which a mistake is reported; if unknown, that of the loop or branch.
SourceLocation place_of(TraceContext& context, const Operand& operand, const Here& here) {
  const Graph& graph = context.tracer().graph();
  if (operand.value.valid()) return graph.producer(operand.value).location;
  return SourceLocation::from(here);
}

std::string name_of(TraceContext& context, const Leaf& leaf, const Operand& operand) {
  return leaf.name.empty() ? context.tracer().name_of(operand) : leaf.name;
}

std::vector<Tracer::State> states(TraceContext& context, const std::vector<Leaf>& leaves, const Here& here, bool initial) {
  std::vector<Tracer::State> result;
  for (const Leaf& leaf : leaves) {
    Operand operand = context.operand(*leaf.tensor, here);
    const SourceLocation place = initial ? SourceLocation::from(here) : place_of(context, operand, here);
    result.push_back({name_of(context, leaf, operand), std::move(operand), place});
  }
  return result;
}

std::shared_ptr<TraceContext> shared_context(std::string_view what, const Here& here) {
  if (TraceContext* context = TraceContext::current()) return context->shared_from_this();
  TraceContext::report(DiagnosticKind::value, here,
                       "`" + std::string(what) + "` outside of a trace; loops and branches are recorded inside `trace(...)`");
  return nullptr;
}

void assign(TraceContext& context, const std::vector<Leaf>& leaves, std::vector<Operand> operands) {
  for (std::size_t i = 0; i < leaves.size(); ++i) *leaves[i].tensor = context.tensor(std::move(operands[i]));
}

/// Results without a name in their nest take the name that the body or arm gave them.
void inherit_names(TraceContext& context, const std::vector<Leaf>& leaves, const std::vector<Operand>& results,
                   const std::vector<Tracer::State>& yielded) {
  for (std::size_t i = 0; i < leaves.size(); ++i)
    if (leaves[i].name.empty()) context.tracer().inherit_name(results[i], yielded[i].operand);
}

std::string_view function_of(LoopRecorder::Kind kind) {
  return kind == LoopRecorder::Kind::count ? "for_loop" : "while_loop";
}

std::string count_text(std::size_t n) {
  return std::to_string(n) + (n == 1 ? " value" : " values");
}

}  // namespace

LoopRecorder::LoopRecorder(Kind kind, const Tensor& count, std::vector<Leaf> state, const LoopOptions& options, const Here& here)
    : context_(shared_context(function_of(kind), here)), kind_(kind), state_(std::move(state)), here_(here.of(function_of(kind))) {
  if (!context_) return;
  Tracer& tracer = context_->tracer();
  const std::vector<Tracer::State> initial = states(*context_, state_, here_, true);
  Tracer::Loop loop = kind == Kind::count ? tracer.begin_for(context_->operand(count, here_), initial, SourceLocation::from(here_),
                                                             options.expect, {}, options.at_most, options.prefetch)
                                          : tracer.begin_while(initial, SourceLocation::from(here_), options.expect, options.at_most);
  if (kind == Kind::condition && options.prefetch)
    TraceContext::report(DiagnosticKind::value, here_, "`prefetch` is for a loop that counts; only its data follow from the trip's number");
  counter_ = context_->tensor(loop.counter);
  assign(*context_, state_, std::move(loop.inside));
}

void LoopRecorder::condition(const Tensor& predicate) {
  condition_given_ = true;
  context_->tracer().while_condition(context_->operand(predicate, here_), SourceLocation::from(here_));
}

void LoopRecorder::close(const std::vector<Leaf>& yielded, const Tensor* stop) {
  const std::shared_ptr<TraceContext> context = std::move(context_);
  Tracer& tracer = context->tracer();
  std::vector<Tracer::State> next = states(*context, yielded, here_, false);
  if (next.size() != state_.size()) {
    TraceContext::report(DiagnosticKind::carried, here_,
                         "the loop carries " + count_text(state_.size()) + " but its body returns " + count_text(next.size()));
    next.resize(state_.size());
  }
  std::optional<Operand> until;
  if (stop) until = context->operand(*stop, here_);
  std::vector<Operand> results = kind_ == Kind::count ? tracer.end_for(next, until) : tracer.end_while(next);
  inherit_names(*context, state_, results, next);
  assign(*context, state_, std::move(results));
}

LoopRecorder::~LoopRecorder() {
  if (!context_ || !context_->open()) return;
  Tracer& tracer = context_->tracer();
  tracer.error(DiagnosticKind::value, SourceLocation::from(here_), "the body of this loop was left by an exception");
  if (kind_ == Kind::condition && !condition_given_) tracer.while_condition({}, SourceLocation::from(here_));
  const std::vector<Tracer::State> unfinished(state_.size());
  kind_ == Kind::count ? tracer.end_for(unfinished) : tracer.end_while(unfinished);
}

BranchRecorder::BranchRecorder(const Tensor& predicate, const BranchOptions& options, const Here& here)
    : context_(shared_context("cond", here)), here_(here.of("cond")) {
  if (context_) context_->tracer().begin_branch(context_->operand(predicate, here_), SourceLocation::from(here_), options.probability);
}

void BranchRecorder::otherwise() {
  if (context_) context_->tracer().begin_otherwise();
}

void BranchRecorder::close(const std::vector<Leaf>& then_values, const std::vector<Leaf>& else_values) {
  const std::shared_ptr<TraceContext> context = std::move(context_);
  if (!context) return;
  std::vector<Tracer::State> first = states(*context, then_values, here_, false), second = states(*context, else_values, here_, false);
  if (first.size() != second.size()) {
    TraceContext::report(DiagnosticKind::type, here_,
                         "one arm of the branch returns " + count_text(first.size()) + ", the other " + count_text(second.size()));
    second.resize(first.size());
  }
  std::vector<Operand> results = context->tracer().end_branch(first, second);
  inherit_names(*context, then_values, results, first);
  inherit_names(*context, then_values, results, second);
  assign(*context, then_values, std::move(results));
}

BranchRecorder::~BranchRecorder() {
  if (!context_ || !context_->open()) return;
  context_->tracer().error(DiagnosticKind::value, SourceLocation::from(here_), "an arm of this branch was left by an exception");
  context_->tracer().end_branch({}, {});
}

}  // namespace cleave::detail
