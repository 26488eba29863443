// Maximum flow by two search trees that survive augmentations (Boykov and Kolmogorov 2004, with the marking and distance heuristics of
// Kolmogorov's thesis), written from the published descriptions. Trees grow from active vertices. Where they touch, flow is pushed along
// the tree paths. A vertex that this cuts off takes as its new parent the neighbor nearest to the terminal that is still connected with it.
// Labels are signed distances to the terminal, known to be right where the vertex's note (a time) equals the current time. No good bound on
// the work in the worst case is known: hence the patience. Vertices next to terminals become active in batches, in the order of vertices,
// so that the working set of a search fits a cache and consecutive components are solved one after the other.
#include <algorithm>
#include <limits>

#include "partitioner/flow/flow_network.h"
#include "partitioner/flow/leaf_folding.h"

namespace cleave::planner {
namespace {

class KeptTrees {
 public:
  explicit KeptTrees(FlowNetwork& network, double patience)
      : network_(network),
        vertices_(network.vertices),
        arcs_(network.arcs),
        active_(static_cast<std::size_t>(network.count())),
        work_left_(patience * static_cast<double>(vertices_.size() + arcs_.size())) {}

  bool run();

 private:
  using Vertex = FlowNetwork::Vertex;
  static constexpr std::int32_t kNone = FlowNetwork::kNone, kRoot = FlowNetwork::kRoot, kFree = FlowNetwork::kFree;
  static constexpr std::int32_t kAtATime = 1 << 14;

  static std::int32_t sign_of(const Vertex& vertex) { return vertex.label > 0 ? 1 : -1; }
  void plant();
  bool next_active(std::int32_t& vertex);
  void activate(std::int32_t vertex);
  std::int32_t grow(std::int32_t vertex);
  void augment(std::int32_t arc);
  void push(std::int32_t vertex, std::int32_t sign, std::int64_t amount);
  [[nodiscard]] std::int64_t bottleneck(std::int32_t vertex, std::int32_t sign);
  void adopt();
  void adopt(std::int32_t orphan);
  std::int32_t distance(std::int32_t vertex);
  void set_free(std::int32_t orphan, std::int32_t sign);

  FlowNetwork& network_;
  std::vector<Vertex>& vertices_;
  std::vector<FlowNetwork::Arc>& arcs_;
  std::vector<bool> active_;         ///< whether the vertex is in the queue or will be fed to it
  std::vector<std::int32_t> queue_;  ///< active vertices; those before head_ are done
  std::size_t head_ = 0;
  std::int32_t fed_ = 0;  ///< the number of vertices that have been fed to the queue, in order
  std::vector<std::int32_t> orphans_;
  std::int32_t time_ = 0;  ///< the number of augmentations so far
  double work_left_;
};

bool KeptTrees::run() {
  plant();
  std::int32_t vertex = 0;
  while (next_active(vertex)) {
    for (std::int32_t contact = grow(vertex); contact != kNone; contact = grow(vertex)) {
      if (work_left_ < 0 || time_ == std::numeric_limits<std::int32_t>::max()) return false;
      ++time_;
      augment(sign_of(vertices_[vertex]) > 0 ? contact : arcs_[contact].reverse);
      adopt();
      if (vertices_[vertex].label == kFree) break;
    }
  }
  return true;
}

void KeptTrees::plant() {
  for (std::int32_t v = 0; v < network_.count(); ++v) {
    Vertex& vertex = vertices_[v];
    vertex.parent = kNone;
    vertex.label = kFree;
    vertex.note = 0;
    if (vertex.excess == 0) continue;
    vertex.parent = kRoot;
    vertex.label = vertex.excess > 0 ? 1 : -1;
    active_[v] = true;
  }
}

bool KeptTrees::next_active(std::int32_t& vertex) {
  for (;;) {
    while (head_ < queue_.size()) {
      vertex = queue_[head_++];
      active_[vertex] = false;
      if (vertices_[vertex].label != kFree) return true;
    }
    if (fed_ == network_.count()) return false;
    queue_.clear();
    head_ = 0;
    const std::int32_t end = std::min(network_.count() - fed_, kAtATime) + fed_;
    for (; fed_ < end; ++fed_) {
      if (active_[fed_]) queue_.push_back(fed_);
    }
  }
}

void KeptTrees::activate(std::int32_t vertex) {
  if (active_[vertex]) return;
  active_[vertex] = true;
  if (vertex >= fed_) return;
  if (head_ > kAtATime && head_ > queue_.size() / 2) {
    queue_.erase(queue_.begin(), queue_.begin() + static_cast<std::ptrdiff_t>(head_));
    head_ = 0;
  }
  queue_.push_back(vertex);
}

/// Adds free neighbors to the tree. Returns an arc to a vertex of the other tree, or kNone.
std::int32_t KeptTrees::grow(std::int32_t v) {
  const Vertex& vertex = vertices_[v];
  const std::int32_t sign = sign_of(vertex), end = vertices_[v + 1].first;
  work_left_ -= end - vertex.first;
  for (std::int32_t a = vertex.first; a < end; ++a) {
    // Towards the source's children flow runs along the arc, towards the sink's against it.
    if (arcs_[sign > 0 ? a : arcs_[a].reverse].residual == 0) continue;
    Vertex& head = vertices_[arcs_[a].head];
    const std::int32_t distance = head.label * sign;
    if (distance < 0) return a;
    if (distance == kFree) {
      activate(arcs_[a].head);
    } else if (head.note > vertex.note || distance <= vertex.label * sign) {
      continue;  // as far as is known, its present parent is nearer to the terminal
    }
    head.parent = arcs_[a].reverse;
    head.label = vertex.label + sign;
    head.note = vertex.note;
  }
  return kNone;
}

/// Pushes as much flow as the path over `arc`, from the source's tree to the sink's, can carry.
void KeptTrees::augment(std::int32_t arc) {
  const std::int32_t from = arcs_[arcs_[arc].reverse].head, to = arcs_[arc].head;
  const std::int64_t amount = std::min({arcs_[arc].residual, bottleneck(from, 1), bottleneck(to, -1)});
  network_.push_over(arc, amount);
  push(from, 1, amount);
  push(to, -1, amount);
  network_.flow += amount;
}

std::int64_t KeptTrees::bottleneck(std::int32_t vertex, std::int32_t sign) {
  std::int64_t least = std::int64_t{1} << 62;
  for (; vertices_[vertex].parent != kRoot; vertex = arcs_[vertices_[vertex].parent].head) {
    least = std::min(least, network_.tree_residual(vertices_[vertex].parent, sign));
    --work_left_;
  }
  return std::min(least, sign * vertices_[vertex].excess);
}

void KeptTrees::push(std::int32_t vertex, std::int32_t sign, std::int64_t amount) {
  const auto cut_off = [&](std::int32_t v) {
    vertices_[v].parent = kNone;
    orphans_.push_back(v);
  };
  while (vertices_[vertex].parent != kRoot) {
    const std::int32_t arc = vertices_[vertex].parent, child = vertex;
    network_.push_over(sign > 0 ? arcs_[arc].reverse : arc, amount);
    vertex = arcs_[arc].head;
    if (network_.tree_residual(arc, sign) == 0) cut_off(child);
  }
  vertices_[vertex].excess -= sign * amount;
  if (vertices_[vertex].excess == 0) cut_off(vertex);
}

void KeptTrees::adopt() {
  std::reverse(orphans_.begin(), orphans_.end());  // those near the terminal first, so that their descendants may keep their parents
  for (std::size_t i = 0; i < orphans_.size(); ++i) adopt(orphans_[i]);
  orphans_.clear();
}

void KeptTrees::adopt(std::int32_t orphan) {
  Vertex& vertex = vertices_[orphan];
  const std::int32_t sign = sign_of(vertex), end = vertices_[orphan + 1].first;
  constexpr std::int32_t kFar = std::numeric_limits<std::int32_t>::max();
  std::int32_t nearest = kFar, parent = kNone;  // not yet the orphan's: the search must not pass through it
  work_left_ -= end - vertex.first;
  for (std::int32_t a = vertex.first; a < end; ++a) {
    const std::int32_t head = arcs_[a].head;
    if (vertices_[head].label * sign <= 0 || network_.tree_residual(a, sign) == 0) continue;
    const std::int32_t far = distance(head);
    if (far == kNone || far >= nearest) continue;
    nearest = far;
    parent = a;
  }
  if (parent == kNone) return set_free(orphan, sign);
  vertex.parent = parent;
  vertex.label = sign * (nearest + 1);
  vertex.note = time_;
}

/// Distance from a vertex to its terminal along the tree, or kNone if an orphan is on the path. Updates labels and notes along the path.
std::int32_t KeptTrees::distance(std::int32_t vertex) {
  std::int32_t steps = 0, v = vertex;
  while (vertices_[v].note != time_ && vertices_[v].parent >= 0) {
    v = arcs_[vertices_[v].parent].head;
    ++steps;
  }
  work_left_ -= steps;
  if (vertices_[v].parent == kNone) return kNone;
  const std::int32_t sign = sign_of(vertices_[v]);
  if (vertices_[v].parent == kRoot) vertices_[v].label = sign, vertices_[v].note = time_;
  std::int32_t far = vertices_[v].label * sign + steps;
  const std::int32_t result = far;
  for (v = vertex; vertices_[v].note != time_; v = arcs_[vertices_[v].parent].head) {
    vertices_[v].label = sign * far--;
    vertices_[v].note = time_;
  }
  return result;
}

/// Removes an orphan without a new parent from its tree: its children become orphans too, and neighbors that could adopt it later become
/// active.
void KeptTrees::set_free(std::int32_t orphan, std::int32_t sign) {
  Vertex& vertex = vertices_[orphan];
  for (std::int32_t a = vertex.first; a < vertices_[orphan + 1].first; ++a) {
    const std::int32_t head = arcs_[a].head;
    if (vertices_[head].label * sign <= 0) continue;
    if (network_.tree_residual(a, sign) > 0) activate(head);
    if (vertices_[head].parent != arcs_[a].reverse) continue;
    vertices_[head].parent = kNone;
    orphans_.push_back(head);
  }
  vertex.label = kFree;
}

}  // namespace

bool push_by_kept_trees(FlowNetwork& network, double patience) {
  return KeptTrees(network, patience).run();
}

void push_all(FlowNetwork& network) {
  // Typical programs need less than 5, hard ones 15; with a hub value that everything reads, levels are faster.
  constexpr double kPatience = 20;
  if (push_by_kept_trees(network, kPatience)) return;
  LeafFolding leaves(network);
  push_by_levels(network);
  leaves.unfold();
}

}  // namespace cleave::planner
