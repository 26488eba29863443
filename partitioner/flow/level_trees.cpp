// Maximum flow by incremental breadth-first search (Goldberg, Hed, Kaplan, Tarjan, Werneck, ESA 2011), written from the published
// description. Two trees grow level by level, one from the source and one to the sink. Where they touch, flow is pushed along the tree
// paths; A vertex that this cuts off finds a new parent one level up, moves down to the lowest level that has a parent for it, or leaves
// its tree. Labels are signed levels; they only ever grow, which bounds the work and makes cycles impossible without any search for a root.
// The note of a vertex is its current arc: none before it leads to a parent one level up.
#include <algorithm>

#include "partitioner/flow/flow_network.h"

namespace cleave::planner {
namespace {

class Levels {
 public:
  explicit Levels(FlowNetwork& network) : network_(network), vertices_(network.vertices), arcs_(network.arcs) { sink_.sign = -1; }
  void run();

 private:
  static constexpr std::int32_t kNone = FlowNetwork::kNone, kRoot = FlowNetwork::kRoot, kFree = FlowNetwork::kFree;

  /// One of the two trees; `sign` times the label of any of its vertices is positive.
  struct Tree {
    std::int32_t sign = 1;
    std::int32_t depth = 1;  ///< the level that grows next
    bool growing = false;    ///< whether vertices one level deeper are being added
    std::vector<std::int32_t> level, next;
  };

  void grow(Tree& tree);
  void augment(std::int32_t from, std::int32_t to, std::int32_t arc);
  std::int64_t bottleneck(std::int32_t vertex, std::int32_t sign);
  void push(std::int32_t vertex, std::int32_t sign, std::int64_t amount);
  void adopt(Tree& tree, std::vector<std::int32_t>& orphans);
  bool find_parent_one_up(std::int32_t vertex, std::int32_t sign);
  void relabel(Tree& tree, std::int32_t vertex, std::vector<std::int32_t>& orphans);

  FlowNetwork& network_;
  std::vector<FlowNetwork::Vertex>& vertices_;
  std::vector<FlowNetwork::Arc>& arcs_;
  Tree source_, sink_;
  std::vector<std::int32_t> source_orphans_, sink_orphans_;
};

void Levels::run() {
  for (std::int32_t v = 0; v < network_.count(); ++v) {
    FlowNetwork::Vertex& vertex = vertices_[v];
    vertex.parent = kNone;
    vertex.label = kFree;
    vertex.note = vertex.first;
    if (vertex.excess == 0) continue;
    Tree& tree = vertex.excess > 0 ? source_ : sink_;
    vertex.label = tree.sign;
    vertex.parent = kRoot;
    tree.level.push_back(v);
  }
  while (!source_.level.empty() && !sink_.level.empty()) grow(source_.depth <= sink_.depth ? source_ : sink_);
}

/// Scans every vertex of the outermost level: free neighbors join the tree, and flow is pushed over arcs to the other tree.
void Levels::grow(Tree& tree) {
  tree.growing = true;
  const std::int32_t label = tree.sign * tree.depth;
  for (std::size_t i = 0; i < tree.level.size(); ++i) {  // adoption may append
    const std::int32_t v = tree.level[i];
    for (std::int32_t a = vertices_[v].first; a < vertices_[v + 1].first && vertices_[v].label == label;) {
      const std::int32_t head = arcs_[a].head;
      // Towards the source's children flow runs along the arc, towards the sink's against it.
      const std::int32_t along = tree.sign > 0 ? a : arcs_[a].reverse;
      if (arcs_[along].residual == 0 || vertices_[head].label * tree.sign > 0) {
        ++a;
      } else if (vertices_[head].label == kFree) {
        vertices_[head].label = label + tree.sign;
        vertices_[head].parent = vertices_[head].note = arcs_[a].reverse;
        tree.next.push_back(head);
        ++a;
      } else {
        tree.sign > 0 ? augment(v, head, along) : augment(head, v, along);
      }
    }
  }
  tree.level.clear();
  tree.level.swap(tree.next);
  ++tree.depth;
  tree.growing = false;
}

/// Pushes as much flow as the path source - from - to - sink can carry.
void Levels::augment(std::int32_t from, std::int32_t to, std::int32_t arc) {
  const std::int64_t amount = std::min({arcs_[arc].residual, bottleneck(from, 1), bottleneck(to, -1)});
  network_.push_over(arc, amount);
  push(from, 1, amount);
  push(to, -1, amount);
  network_.flow += amount;
  adopt(source_, source_orphans_);
  adopt(sink_, sink_orphans_);
}

std::int64_t Levels::bottleneck(std::int32_t vertex, std::int32_t sign) {
  std::int64_t least = std::int64_t{1} << 62;
  while (vertices_[vertex].parent != kRoot) {
    const std::int32_t arc = vertices_[vertex].parent;
    least = std::min(least, network_.tree_residual(arc, sign));
    vertex = arcs_[arc].head;
  }
  return std::min(least, sign * vertices_[vertex].excess);
}

void Levels::push(std::int32_t vertex, std::int32_t sign, std::int64_t amount) {
  std::vector<std::int32_t>& orphans = sign > 0 ? source_orphans_ : sink_orphans_;
  auto cut_off = [&](std::int32_t v) {
    vertices_[v].parent = kNone;
    orphans.push_back(v);
  };
  while (vertices_[vertex].parent != kRoot) {
    const std::int32_t arc = vertices_[vertex].parent;
    std::int64_t& residual = network_.tree_residual(arc, sign);
    residual -= amount;
    network_.tree_residual(arc, -sign) += amount;
    const std::int32_t parent = arcs_[arc].head;
    if (residual == 0) cut_off(vertex);
    vertex = parent;
  }
  vertices_[vertex].excess -= sign * amount;
  if (vertices_[vertex].excess == 0) cut_off(vertex);
}

void Levels::adopt(Tree& tree, std::vector<std::int32_t>& orphans) {
  std::reverse(orphans.begin(), orphans.end());  // those near the terminal first, so that their descendants may keep their parents
  for (std::size_t i = 0; i < orphans.size(); ++i) {
    if (!find_parent_one_up(orphans[i], tree.sign)) relabel(tree, orphans[i], orphans);
  }
  orphans.clear();
}

bool Levels::find_parent_one_up(std::int32_t vertex, std::int32_t sign) {
  FlowNetwork::Vertex& orphan = vertices_[vertex];
  const std::int32_t wanted = orphan.label - sign;
  if (wanted == kFree) return false;
  for (; orphan.note < vertices_[vertex + 1].first; ++orphan.note) {
    if (vertices_[arcs_[orphan.note].head].label != wanted || network_.tree_residual(orphan.note, sign) == 0) continue;
    orphan.parent = orphan.note;
    return true;
  }
  return false;
}

/// No parent is left one level up: the children are cut off, and the vertex moves to the lowest level that has a parent for it.
void Levels::relabel(Tree& tree, std::int32_t vertex, std::vector<std::int32_t>& orphans) {
  FlowNetwork::Vertex& orphan = vertices_[vertex];
  const std::int32_t deepest = tree.depth + (tree.growing ? 1 : 0);
  std::int32_t best = deepest;  // the parent's level must be smaller
  std::int32_t arc_to_best = kNone;
  for (std::int32_t a = orphan.first; a < vertices_[vertex + 1].first; ++a) {
    const std::int32_t head = arcs_[a].head;
    const std::int32_t level = vertices_[head].label * tree.sign;
    if (level <= 0) continue;
    if (vertices_[head].parent == arcs_[a].reverse) {
      vertices_[head].parent = kNone;
      orphans.push_back(head);
    }
    if (level < best && network_.tree_residual(a, tree.sign) > 0) {
      best = level;
      arc_to_best = a;
    }
  }
  orphan.parent = arc_to_best;
  if (arc_to_best == kNone) {
    orphan.label = kFree;
    return;
  }
  orphan.note = arc_to_best;
  orphan.label = tree.sign * (best + 1);
  if (best + 1 == tree.depth) tree.level.push_back(vertex);
  if (best + 1 == tree.depth + 1) tree.next.push_back(vertex);
}

}  // namespace

void push_by_levels(FlowNetwork& network) {
  Levels(network).run();
}

}  // namespace cleave::planner
