// The order is a linked list with numbers. United kernels take the position of the first of them; kernels after it on which they depend
// move in front of it.
#include "partitioner/machine/kernel_order.h"

#include <algorithm>

namespace cleave::planner {

KernelOrder::KernelOrder(const Graph& graph, const Dataflow& dataflow)
    : graph_(graph),
      dataflow_(dataflow),
      first_(graph.nodes.size()),
      members_(graph.nodes.size()),
      place_(graph.nodes.size(), 0),
      next_(graph.nodes.size()),
      before_(graph.nodes.size()),
      ends_(graph.regions.size()),
      searched_(graph.nodes.size(), 0) {}

void KernelOrder::add(NodeId node) {
  if (!is_new(node)) return;
  Ends& ends = ends_of(node);
  first_[node.index] = node;
  place_[node.index] = ends.last ? place_[ends.last.index] + kStride : kStride;
  before_[node.index] = ends.last;
  (ends.last ? next_[ends.last.index] : ends.first) = node;
  ends.last = node;
}

const KernelOrder::Union* KernelOrder::find_union(std::span<const NodeId> nodes) {
  Union& found = found_;
  found.kernels.clear();
  found.moved.clear();
  const auto is_own = [&](NodeId kernel) { return std::find(found.kernels.begin(), found.kernels.end(), kernel) != found.kernels.end(); };
  for (const NodeId node : nodes) {
    const NodeId kernel = is_new(node) ? node : first_[node.index];
    if (!is_own(kernel)) found.kernels.push_back(kernel);
  }
  std::iter_swap(found.kernels.begin(), std::min_element(found.kernels.begin(), found.kernels.end(), [&](NodeId a, NodeId b) {
                   return !is_new(a) && (is_new(b) || place_[a.index] < place_[b.index]);
                 }));
  const NodeId target = found.kernels.front();
  ++search_;
  // Kernels before the first one cannot depend on it.
  const auto search_from = [&](NodeId node, bool is_outside) {
    for (const NodeId maker : dataflow_.before(node)) {
      const NodeId kernel = first_[maker.index];
      if (is_own(kernel)) {
        if (is_outside) return false;
        continue;
      }
      if (place_[kernel.index] < place_[target.index] || searched_[kernel.index] == search_) continue;
      searched_[kernel.index] = search_;
      found.moved.push_back(kernel);
    }
    return true;
  };
  const auto search_from_all = [&](NodeId kernel, bool is_outside) {
    const std::vector<NodeId>& members = members_[kernel.index];
    if (members.empty()) return search_from(kernel, is_outside);
    return std::all_of(members.begin(), members.end(), [&](NodeId member) { return search_from(member, is_outside); });
  };
  for (std::size_t i = 1; i < found.kernels.size(); ++i) search_from_all(found.kernels[i], false);
  for (std::size_t i = 0; i < found.moved.size(); ++i)
    if (found.moved.size() > kMostSearched || !search_from_all(found.moved[i], true)) return nullptr;
  std::sort(found.moved.begin(), found.moved.end(), [&](NodeId a, NodeId b) { return place_[a.index] < place_[b.index]; });
  return &found;
}

void KernelOrder::unite(const Union& found) {
  const NodeId target = found.kernels.front();
  for (const NodeId kernel : found.moved) {
    unlink(kernel);
    link_before(kernel, target);
  }
  std::vector<NodeId>& members = members_[target.index];
  if (members.empty()) members.push_back(target);
  for (std::size_t i = 1; i < found.kernels.size(); ++i) {
    const NodeId kernel = found.kernels[i];
    if (!is_new(kernel)) unlink(kernel);
    std::vector<NodeId>& others = members_[kernel.index];
    if (others.empty()) others.push_back(kernel);
    for (const NodeId other : others) first_[other.index] = target;
    members.insert(members.end(), others.begin(), others.end());
    others.clear();
  }
}

void KernelOrder::unlink(NodeId kernel) {
  const NodeId before = before_[kernel.index], next = next_[kernel.index];
  (before ? next_[before.index] : ends_of(kernel).first) = next;
  (next ? before_[next.index] : ends_of(kernel).last) = before;
}

void KernelOrder::link_before(NodeId kernel, NodeId next) {
  const NodeId before = before_[next.index];
  before_[kernel.index] = before;
  next_[kernel.index] = next;
  (before ? next_[before.index] : ends_of(kernel).first) = kernel;
  before_[next.index] = kernel;
  const std::uint64_t from = before ? place_[before.index] : 0, to = place_[next.index];
  place_[kernel.index] = from + (to - from) / 16;  // leaves room for more kernels between it and `next`
  if (place_[kernel.index] == from) number_anew(ends_of(kernel).first);
}

void KernelOrder::number_anew(NodeId first) {
  std::uint64_t place = 0;
  for (NodeId kernel = first; kernel; kernel = next_[kernel.index]) place_[kernel.index] = place += kStride;
}

}  // namespace cleave::planner
