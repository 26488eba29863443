// Maximum flow by incremental breadth-first search (Goldberg, Hed, Kaplan, Tarjan, Werneck, ESA 2011), written from the published
// description. Two trees grow level by level, one from the source and one to the sink. Where they touch, flow is pushed along the tree
// paths; what that cuts off looks for a new parent one level up, moves down to the lowest level that has one, or leaves its tree. Labels
// only ever grow, which bounds the work and makes cycles impossible without any search for a root.
#include "partitioner/min_cut.h"

#include <algorithm>

#include "graph/check.h"

namespace cleave {
namespace {

constexpr std::int32_t kFree = 0;
constexpr std::int32_t kNone = -1;  ///< in place of a parent arc: an orphan, or not in a tree
constexpr std::int32_t kRoot = -2;  ///< in place of a parent arc: hangs on its terminal

class Ibfs {
 public:
  explicit Ibfs(const CutNetwork& network);
  Cut solve();
  /// After solve(): what the cut's value falls by if `relief` holds. Leaves the flow as it was.
  std::int64_t saving(const CutNetwork& network, const std::vector<bool>& source_side, const Relief& relief);

 private:
  struct Arc {
    std::int32_t head = 0;
    std::int32_t reverse = 0;
    std::int64_t residual = 0;
  };
  struct Vertex {
    std::int32_t first = 0;       ///< arcs: up to the next vertex's first
    std::int32_t current = 0;     ///< no arc before it leads to a parent one level up
    std::int32_t parent = kNone;  ///< the arc to the parent
    std::int32_t label = kFree;   ///< distance from the source, negative: to the sink
    std::int64_t excess = 0;      ///< what the source can still send here, negative: what the sink can still take
  };
  /// One of the two trees; `sign` times a label of it is positive.
  struct Tree {
    std::int32_t sign = 1;
    std::int32_t depth = 1;  ///< the level that grows next
    bool growing = false;    ///< then vertices one level deeper are being added
    std::vector<std::int32_t> level, next;
  };

  /// The residual capacity between a vertex and its parent over `arc` (vertex to parent), in the direction in which the tree carries flow.
  [[nodiscard]] std::int64_t& tree_residual(std::int32_t arc, std::int32_t sign) {
    return arcs_[sign > 0 ? arcs_[arc].reverse : arc].residual;
  }
  void grow(Tree& tree);
  void augment(std::int32_t from, std::int32_t to, std::int32_t arc);
  std::int64_t bottleneck(std::int32_t vertex, std::int32_t sign);
  void push(std::int32_t vertex, std::int32_t sign, std::int64_t amount);
  void adopt(Tree& tree, std::vector<std::int32_t>& orphans);
  bool find_parent_one_up(std::int32_t vertex, std::int32_t sign);
  void relabel(Tree& tree, std::int32_t vertex, std::vector<std::int32_t>& orphans);
  [[nodiscard]] std::vector<bool> largest_source_side() const;
  std::int32_t find_supply(const std::vector<bool>& source_side, std::int32_t vertex);

  std::vector<Vertex> vertices_;  ///< and a sentinel for `first`
  std::vector<Arc> arcs_;
  Tree source_, sink_;
  std::vector<std::int32_t> source_orphans_, sink_orphans_;
  std::int64_t flow_ = 0;
  std::vector<std::int32_t> towards_,
      reached_;  ///< of find_supply: the arc that leads on to the vertex in need; the vertices that have one
};

Ibfs::Ibfs(const CutNetwork& network) : vertices_(network.source_capacity.size() + 1) {
  sink_.sign = -1;
  for (std::int32_t v = 0; v < network.vertices(); ++v) {
    const std::int64_t through = std::min(network.source_capacity[v], network.sink_capacity[v]);
    flow_ += through;
    vertices_[v].excess = network.source_capacity[v] - network.sink_capacity[v];
  }
  for (const CutNetwork::Arc& arc : network.arcs) {
    ++vertices_[arc.from].first;
    ++vertices_[arc.to].first;
  }
  std::int32_t next = 0;
  for (Vertex& vertex : vertices_) next = vertex.first += next;  // the end of its arcs; filled from there down
  arcs_.resize(next);
  for (auto arc = network.arcs.rbegin(); arc != network.arcs.rend(); ++arc) {
    const std::int32_t forward = --vertices_[arc->from].first, backward = --vertices_[arc->to].first;
    arcs_[forward] = {arc->to, backward, arc->capacity};
    arcs_[backward] = {arc->from, forward, arc->reverse_capacity};
  }
}

Cut Ibfs::solve() {
  for (std::int32_t v = 0; v + 1 < static_cast<std::int32_t>(vertices_.size()); ++v) {
    Vertex& vertex = vertices_[v];
    if (vertex.excess == 0) continue;
    Tree& tree = vertex.excess > 0 ? source_ : sink_;
    vertex.label = tree.sign;
    vertex.parent = kRoot;
    tree.level.push_back(v);
  }
  while (!source_.level.empty() && !sink_.level.empty()) grow(source_.depth <= sink_.depth ? source_ : sink_);
  return {flow_, largest_source_side()};
}

/// Scans every vertex of the outermost level: free neighbours join, contact with the other tree pushes flow.
void Ibfs::grow(Tree& tree) {
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
        vertices_[head].parent = vertices_[head].current = arcs_[a].reverse;
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

/// Pushes what the path source - from - to - sink can carry.
void Ibfs::augment(std::int32_t from, std::int32_t to, std::int32_t arc) {
  const std::int64_t amount = std::min({arcs_[arc].residual, bottleneck(from, 1), bottleneck(to, -1)});
  arcs_[arc].residual -= amount;
  arcs_[arcs_[arc].reverse].residual += amount;
  push(from, 1, amount);
  push(to, -1, amount);
  flow_ += amount;
  adopt(source_, source_orphans_);
  adopt(sink_, sink_orphans_);
}

std::int64_t Ibfs::bottleneck(std::int32_t vertex, std::int32_t sign) {
  std::int64_t least = std::int64_t{1} << 62;
  while (vertices_[vertex].parent != kRoot) {
    const std::int32_t arc = vertices_[vertex].parent;
    least = std::min(least, tree_residual(arc, sign));
    vertex = arcs_[arc].head;
  }
  return std::min(least, sign * vertices_[vertex].excess);
}

void Ibfs::push(std::int32_t vertex, std::int32_t sign, std::int64_t amount) {
  std::vector<std::int32_t>& orphans = sign > 0 ? source_orphans_ : sink_orphans_;
  auto cut_off = [&](std::int32_t v) {
    vertices_[v].parent = kNone;
    orphans.push_back(v);
  };
  while (vertices_[vertex].parent != kRoot) {
    const std::int32_t arc = vertices_[vertex].parent;
    std::int64_t& residual = tree_residual(arc, sign);
    residual -= amount;
    tree_residual(arc, -sign) += amount;
    const std::int32_t parent = arcs_[arc].head;
    if (residual == 0) cut_off(vertex);
    vertex = parent;
  }
  vertices_[vertex].excess -= sign * amount;
  if (vertices_[vertex].excess == 0) cut_off(vertex);
}

void Ibfs::adopt(Tree& tree, std::vector<std::int32_t>& orphans) {
  std::reverse(orphans.begin(), orphans.end());  // those near the terminal first: what is below may then stay where it is
  for (std::size_t i = 0; i < orphans.size(); ++i) {
    if (!find_parent_one_up(orphans[i], tree.sign)) relabel(tree, orphans[i], orphans);
  }
  orphans.clear();
}

bool Ibfs::find_parent_one_up(std::int32_t vertex, std::int32_t sign) {
  Vertex& orphan = vertices_[vertex];
  const std::int32_t wanted = orphan.label - sign;
  if (wanted == kFree) return false;
  for (; orphan.current < vertices_[vertex + 1].first; ++orphan.current) {
    if (vertices_[arcs_[orphan.current].head].label != wanted || tree_residual(orphan.current, sign) == 0) continue;
    orphan.parent = orphan.current;
    return true;
  }
  return false;
}

/// No parent is left one level up: the children are cut off, and the vertex moves to the lowest level that has a parent for it.
void Ibfs::relabel(Tree& tree, std::int32_t vertex, std::vector<std::int32_t>& orphans) {
  Vertex& orphan = vertices_[vertex];
  const std::int32_t deepest = tree.depth + (tree.growing ? 1 : 0);
  std::int32_t best = deepest;  // the parent's level must be below it
  std::int32_t arc_to_best = kNone;
  for (std::int32_t a = orphan.first; a < vertices_[vertex + 1].first; ++a) {
    const std::int32_t head = arcs_[a].head;
    const std::int32_t level = vertices_[head].label * tree.sign;
    if (level <= 0) continue;
    if (vertices_[head].parent == arcs_[a].reverse) {
      vertices_[head].parent = kNone;
      orphans.push_back(head);
    }
    if (level < best && tree_residual(a, tree.sign) > 0) {
      best = level;
      arc_to_best = a;
    }
  }
  orphan.parent = arc_to_best;
  if (arc_to_best == kNone) {
    orphan.label = kFree;
    return;
  }
  orphan.current = arc_to_best;
  orphan.label = tree.sign * (best + 1);
  if (best + 1 == tree.depth) tree.level.push_back(vertex);
  if (best + 1 == tree.depth + 1) tree.next.push_back(vertex);
}

/// All but what can still reach the sink.
std::vector<bool> Ibfs::largest_source_side() const {
  const std::size_t count = vertices_.size() - 1;
  std::vector<bool> source_side(count, true);
  std::vector<std::int32_t> reached;
  for (std::size_t v = 0; v < count; ++v) {
    if (vertices_[v].excess >= 0) continue;
    source_side[v] = false;
    reached.push_back(static_cast<std::int32_t>(v));
  }
  while (!reached.empty()) {
    const std::int32_t v = reached.back();
    reached.pop_back();
    for (std::int32_t a = vertices_[v].first; a < vertices_[v + 1].first; ++a) {
      const std::int32_t head = arcs_[a].head;
      if (!source_side[head] || arcs_[arcs_[a].reverse].residual == 0) continue;
      source_side[head] = false;
      reached.push_back(head);
    }
  }
  return source_side;
}

/// The nearest vertex that the source can still supply and from which flow can reach `vertex`. The sink's side has none: else there would
/// be more flow. Leaves the way in `towards_`.
std::int32_t Ibfs::find_supply(const std::vector<bool>& source_side, std::int32_t vertex) {
  if (towards_.empty()) towards_.assign(vertices_.size(), kNone);
  for (const std::int32_t v : reached_) towards_[v] = kNone;
  reached_.assign(1, vertex);
  towards_[vertex] = kRoot;
  for (std::size_t next = 0; next < reached_.size(); ++next) {
    const std::int32_t v = reached_[next];
    for (std::int32_t a = vertices_[v].first; a < vertices_[v + 1].first; ++a) {
      const std::int32_t head = arcs_[a].head, back = arcs_[a].reverse;
      if (towards_[head] != kNone || arcs_[back].residual == 0 || !source_side[head]) continue;
      towards_[head] = back;
      reached_.push_back(head);
      if (vertices_[head].excess > 0) return head;
    }
  }
  return kNone;
}

/// With less from the source the vertex sends out more than it gets. What others can supply instead is no saving; the rest is.
std::int64_t Ibfs::saving(const CutNetwork& network, const std::vector<bool>& source_side, const Relief& relief) {
  const std::int64_t supplied = network.source_capacity[relief.vertex] - std::max<std::int64_t>(vertices_[relief.vertex].excess, 0);
  std::int64_t missing = supplied - relief.source_capacity;
  struct Push {
    std::int32_t arc, from;  ///< an arc, or else what the source supplied to a vertex
    std::int64_t amount;
  };
  std::vector<Push> done;
  while (missing > 0) {
    const std::int32_t supply = find_supply(source_side, relief.vertex);
    if (supply == kNone) break;
    std::int64_t amount = std::min(missing, vertices_[supply].excess);
    for (std::int32_t v = supply; v != relief.vertex; v = arcs_[towards_[v]].head) amount = std::min(amount, arcs_[towards_[v]].residual);
    for (std::int32_t v = supply; v != relief.vertex; v = arcs_[towards_[v]].head) {
      arcs_[towards_[v]].residual -= amount;
      arcs_[arcs_[towards_[v]].reverse].residual += amount;
      done.push_back({towards_[v], kNone, amount});
    }
    vertices_[supply].excess -= amount;
    done.push_back({kNone, supply, amount});
    missing -= amount;
  }
  for (const Push& push : done) {
    if (push.arc == kNone) {
      vertices_[push.from].excess += push.amount;
      continue;
    }
    arcs_[push.arc].residual += push.amount;
    arcs_[arcs_[push.arc].reverse].residual -= push.amount;
  }
  return std::max<std::int64_t>(missing, 0);
}

}  // namespace

Cut min_cut_ibfs(const CutNetwork& network) {
  return Ibfs(network).solve();
}

Relieved relieve(const CutNetwork& network, const std::vector<Relief>& reliefs) {
  Ibfs ibfs(network);
  const Cut cut = ibfs.solve();
  Relieved result{cut.value, {}};
  for (const Relief& relief : reliefs) result.savings.push_back(ibfs.saving(network, cut.source_side, relief));
  return result;
}

Cut min_cut(const CutNetwork& network, Solver solver) {
  return solver == Solver::boost ? min_cut_boost(network) : min_cut_ibfs(network);
}

}  // namespace cleave
