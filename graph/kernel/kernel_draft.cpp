#include "graph/kernel/kernel_draft.h"

#include <algorithm>
#include <utility>

namespace cleave::kernels {
namespace {

/// Appends an element that reuses the memory of a spare one.
template <class T>
T& add_from(std::vector<T>& spare, std::vector<T>& to) {
  if (spare.empty()) return to.emplace_back();
  to.push_back(std::move(spare.back()));
  spare.pop_back();
  return to.back();
}

template <class T>
void keep_last(std::vector<T>& from, std::vector<T>& spare) {
  spare.push_back(std::move(from.back()));
  from.pop_back();
}

bool contains(const std::vector<ValueId>& all, ValueId value) {
  return std::find(all.begin(), all.end(), value) != all.end();
}

}  // namespace

bool KernelDraft::knows(ValueId value) const {
  return contains(inputs_, value) || contains(results_, value);
}

std::size_t KernelDraft::operand(ValueId value) const {
  const auto made = std::find(results_.begin(), results_.end(), value);
  if (made != results_.end()) return inputs_.size() + static_cast<std::size_t>(made - results_.begin());
  return static_cast<std::size_t>(std::find(inputs_.begin(), inputs_.end(), value) - inputs_.begin());
}

void KernelDraft::push(NodeId id) {
  const Node& node = graph_->nodes[id];
  const std::size_t before = inputs_.size();
  inputs_before_.push_back(before);
  for (const ValueId input : node.inputs) {
    if (knows(input)) continue;
    inputs_.push_back(input);
    add_from(spare_types_, request_.input_types) = graph_->values[input].type;
  }
  if (const std::size_t more = inputs_.size() - before; more > 0) {  // results are numbered after all inputs
    for (FusedStep& step : request_.steps)
      for (std::size_t& operand : step.operands)
        if (operand >= before) operand += more;
  }
  FusedStep& step = add_from(spare_steps_, request_.steps);
  step.node = id;
  step.op = node.op;
  step.attributes = &node.attributes;
  step.operands.clear();
  for (const ValueId input : node.inputs) {
    step.operands.push_back(operand(input));
    if (step.operands.back() >= inputs_.size()) ++reads_[step.operands.back() - inputs_.size()];
  }
  step.type = graph_->values[node.results[0]].type;
  results_.push_back(node.results[0]);
  reads_.push_back(0);
}

void KernelDraft::pop() {
  for (const std::size_t operand : request_.steps.back().operands)
    if (operand >= inputs_.size()) --reads_[operand - inputs_.size()];
  keep_last(request_.steps, spare_steps_);
  results_.pop_back();
  reads_.pop_back();
  const std::size_t before = inputs_before_.back(), fewer = inputs_.size() - before;
  inputs_before_.pop_back();
  if (fewer == 0) return;
  for (FusedStep& step : request_.steps)
    for (std::size_t& operand : step.operands)
      if (operand >= inputs_.size()) operand -= fewer;
  inputs_.resize(before);
  for (std::size_t k = 0; k < fewer; ++k) keep_last(request_.input_types, spare_types_);
}

bool KernelDraft::is_written(std::size_t step) const {
  return step + 1 == size() || (*uses_)[results_[step].index] > reads_[step];
}

bool KernelDraft::hides() const {
  for (std::size_t i = 0; i < size(); ++i)
    if (!is_written(i)) return true;
  return false;
}

void KernelDraft::write(std::size_t step, std::size_t place) {
  if (place == request_.result_types.size()) add_from(spare_types_, request_.result_types);
  request_.result_types[place] = request_.steps[step].type;
  request_.written.push_back(step);
}

const KernelRequest& KernelDraft::finish(std::size_t written) {
  while (request_.result_types.size() > written) keep_last(request_.result_types, spare_types_);
  const FusedStep& last = request_.steps.back();
  request_.node = last.node;
  request_.op = last.op;
  request_.attributes = last.attributes;
  return request_;
}

const KernelRequest& KernelDraft::request() {
  request_.written.clear();
  std::size_t written = 0;
  for (std::size_t i = 0; i < size(); ++i)
    if (is_written(i)) write(i, written++);
  return finish(written);
}

const KernelRequest& KernelDraft::all_written() {
  request_.written.clear();
  for (std::size_t i = 0; i < size(); ++i) write(i, i);
  return finish(size());
}

bool KernelDraft::is_taken_with(NodeId first, NodeId second, const FusionRule& takes) {
  push(first);
  push(second);
  const bool taken = takes(request());
  pop();
  pop();
  return taken;
}

}  // namespace cleave::kernels
