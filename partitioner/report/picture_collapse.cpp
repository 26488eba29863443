// The steps that make a picture smaller: chains of element-wise operations, scopes, adjacent leaves, loops. They run in this order and only
// as far as necessary, so that boxes which the user named remain longest.
#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "partitioner/report/picture_tree.h"

namespace cleave::planner {
namespace {

/// Adds the contents of `other` to `into`.
void absorb(PictureNode& into, const PictureNode& other) {
  into.nodes.insert(into.nodes.end(), other.nodes.begin(), other.nodes.end());
  into.outputs.insert(into.outputs.end(), other.outputs.begin(), other.outputs.end());
  const auto unite = [](auto& all, const auto& more) {
    all.insert(all.end(), more.begin(), more.end());
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
  };
  unite(into.round_trips, other.round_trips);
  unite(into.causes, other.causes);
}

class Runs {
 public:
  Runs(const Plan& plan, const NodeFacts& facts) : graph_(*plan.graph), facts_(facts) {}

  void collapse(PictureItem& box) {
    std::vector<PictureItem> items;
    for (PictureItem& item : box.items) {
      if (item.is_box) collapse(item);
      if (!items.empty() && continues(items.back(), item)) {
        items.back().leaf.kind = PictureNode::Kind::run;
        absorb(items.back().leaf, item.leaf);
      } else {
        items.push_back(std::move(item));
      }
    }
    box.items = std::move(items);
  }

 private:
  [[nodiscard]] bool elementwise(const PictureItem& item) const {
    if (item.is_box || item.leaf.nodes.empty() || facts_.blamed[item.leaf.nodes[0].index]) return false;
    const OpDef* op = graph_.nodes[item.leaf.nodes[0]].op;
    return op != nullptr && op->elementwise();
  }
  [[nodiscard]] bool continues(const PictureItem& run, const PictureItem& next) const {
    if (!elementwise(run) || !elementwise(next) || run.leaf.causes != next.leaf.causes || run.leaf.round_trips != next.leaf.round_trips)
      return false;
    const NodeId id = next.leaf.nodes[0];
    if (facts_.reads_send[id.index]) return false;
    const auto& inputs = graph_.nodes[id].inputs;
    return std::any_of(inputs.begin(), inputs.end(), [&](ValueId input) {
      return std::find(run.leaf.nodes.rbegin(), run.leaf.nodes.rend(), graph_.values[input].producer) != run.leaf.nodes.rend();
    });
  }

  const Graph& graph_;
  const NodeFacts& facts_;
};

// --- to a number of leaves -------------------------------------------------------------------------------------------------------------

/// The sort of a leaf: leaves from the user, carried values, outputs, operations on a round trip, all others. As long as that suffices,
/// only leaves of one sort are merged.
enum class Sort : std::uint8_t { given, carried, output, round_trip, other };

Sort sort_of(const Graph& graph, const PictureNode& leaf) {
  if (leaf.nodes.empty()) return Sort::output;
  switch (graph.nodes[leaf.nodes[0]].kind) {
    case NodeKind::input:
    case NodeKind::parameter:
    case NodeKind::constant: return Sort::given;
    case NodeKind::carried:
    case NodeKind::merge:
    case NodeKind::counter: return leaf.round_trips.empty() ? Sort::carried : Sort::round_trip;
    default: return leaf.round_trips.empty() ? Sort::other : Sort::round_trip;
  }
}

void absorb_all(const PictureItem& item, PictureNode& into) {
  if (!item.is_box) return absorb(into, item.leaf);
  for (const PictureItem& inner : item.items) absorb_all(inner, into);
}

/// Turns the box into one leaf.
void collapse_box(PictureItem& item) {
  PictureNode all;
  all.kind = PictureNode::Kind::part;
  all.device = item.box.device;
  all.name = item.box.label;
  all.times = item.box.times;
  absorb_all(item, all);
  item = {};
  item.leaf = std::move(all);
}

class Collapse {
 public:
  Collapse(std::vector<PictureItem>& devices, const Graph& graph, std::size_t most) : devices_(devices), graph_(graph), most_(most) {
    for (const PictureItem& device : devices) count_ += leaves(device);
  }

  void run() {
    constexpr std::size_t kStretch = 16;  ///< most nodes of a merged leaf before whole loops are collapsed
    constexpr auto kAll = static_cast<std::size_t>(-1);
    const std::set<Sort> alike{Sort::given, Sort::output, Sort::carried, Sort::other};
    merge_rows({Sort::given, Sort::output});
    merge_rows({Sort::carried});
    boxes({PictureBox::Kind::scope});
    while (merge_pairs(alike, kStretch)) continue;
    boxes({PictureBox::Kind::scope, PictureBox::Kind::repeated, PictureBox::Kind::region});
    while (merge_pairs(alike, kAll)) continue;
    while (merge_pairs({}, kAll)) continue;
    if (count_ > most_) everything();
  }

 private:
  // --- adjacent leaves

  /// Merges rows of three or more adjacent leaves of one of these sorts.
  void merge_rows(const std::set<Sort>& sorts) {
    constexpr std::size_t kRow = 3;
    if (count_ <= most_) return;
    for_all_lists([&](std::vector<PictureItem>& items) {
      std::vector<PictureItem> kept;
      for (std::size_t i = 0; i < items.size();) {
        std::size_t end = i + 1;
        if (!items[i].is_box && sorts.contains(sort_of(graph_, items[i].leaf)))
          while (end < items.size() && mergeable(items[i], items[end], sorts)) ++end;
        kept.push_back(std::move(items[i]));
        for (++i; end - i + 1 >= kRow && i < end; ++i) merge(kept.back().leaf, items[i].leaf);
      }
      items = std::move(kept);
    });
  }

  /// Merges pairs of adjacent leaves, those with the fewest nodes first, and each leaf at most once. Returns false if there was no such
  /// pair.
  bool merge_pairs(const std::set<Sort>& sorts, std::size_t largest) {
    if (count_ <= most_) return false;
    std::vector<std::vector<PictureItem>*> lists;
    for_all_lists([&](std::vector<PictureItem>& items) { lists.push_back(&items); });
    std::vector<std::array<std::size_t, 3>> pairs;  // number of nodes, list, index
    for (std::size_t l = 0; l < lists.size(); ++l) {
      const std::vector<PictureItem>& items = *lists[l];
      for (std::size_t i = 0; i + 1 < items.size(); ++i) {
        if (!mergeable(items[i], items[i + 1], sorts)) continue;
        const std::size_t nodes = items[i].leaf.nodes.size() + items[i + 1].leaf.nodes.size();
        if (nodes <= largest) pairs.push_back({nodes, l, i});
      }
    }
    std::sort(pairs.begin(), pairs.end());
    std::vector<std::set<std::size_t>> gone(lists.size());  // indices of leaves that were merged into the leaf before
    std::set<std::pair<std::size_t, std::size_t>> taken;
    for (const auto& [nodes, l, i] : pairs) {
      if (count_ <= most_) break;
      if (taken.contains({l, i}) || taken.contains({l, i + 1})) continue;
      taken.insert({{l, i}, {l, i + 1}});
      merge((*lists[l])[i].leaf, (*lists[l])[i + 1].leaf);
      gone[l].insert(i + 1);
    }
    for (std::size_t l = 0; l < lists.size(); ++l) {
      std::vector<PictureItem> kept;
      for (std::size_t i = 0; i < lists[l]->size(); ++i)
        if (!gone[l].contains(i)) kept.push_back(std::move((*lists[l])[i]));
      *lists[l] = std::move(kept);
    }
    return !taken.empty();
  }

  /// Whether both are leaves of one of the sorts. If `sorts` is empty, any two leaves qualify, except an output with another sort.
  [[nodiscard]] bool mergeable(const PictureItem& a, const PictureItem& b, const std::set<Sort>& sorts) const {
    if (a.is_box || b.is_box) return false;
    const Sort sort = sort_of(graph_, a.leaf), other = sort_of(graph_, b.leaf);
    if (sorts.empty()) return (sort == Sort::output) == (other == Sort::output);
    return sort == other && sorts.contains(sort);
  }

  void merge(PictureNode& into, const PictureNode& other) {
    absorb(into, other);
    into.times = 1;
    into.name.clear();
    if (into.outputs.empty()) into.kind = PictureNode::Kind::part;
    --count_;
  }

  template <class F>
  void for_all_lists(F&& work) {
    for (PictureItem& device : devices_) for_lists(device, work);
  }
  /// Visits inner lists first, so that `work` may move the items of its list. Pointers to lists stay valid until a list around them
  /// changes.
  template <class F>
  static void for_lists(PictureItem& box, F& work) {
    for (PictureItem& item : box.items)
      if (item.is_box) for_lists(item, work);
    work(box.items);
  }

  // --- boxes

  struct Found {
    std::size_t depth = 0, size = 0, order = 0;
    std::vector<std::size_t> path;  ///< the device, then an index for each level
  };

  /// Collapses boxes of these kinds: the innermost first, of those the largest first.
  void boxes(const std::set<PictureBox::Kind>& kinds) {
    while (count_ > most_) {
      std::vector<Found> found;
      for (std::size_t d = 0; d < devices_.size(); ++d) {
        std::vector<std::size_t> path{d};
        find(devices_[d], kinds, path, found);
      }
      if (found.empty()) return;
      std::sort(found.begin(), found.end(), [](const Found& a, const Found& b) {
        return a.depth != b.depth ? a.depth > b.depth : a.size != b.size ? a.size > b.size : a.order < b.order;
      });
      const std::size_t depth = found[0].depth;
      for (const Found& one : found) {
        if (one.depth != depth || count_ <= most_) break;
        PictureItem* item = &devices_[one.path[0]];
        for (std::size_t i = 1; i < one.path.size(); ++i) item = &item->items[one.path[i]];
        collapse_box(*item);
        count_ -= one.size - 1;
      }
    }
  }

  static void find(const PictureItem& box, const std::set<PictureBox::Kind>& kinds, std::vector<std::size_t>& path,
                   std::vector<Found>& found) {
    for (std::size_t i = 0; i < box.items.size(); ++i) {
      const PictureItem& item = box.items[i];
      if (!item.is_box) continue;
      path.push_back(i);
      if (kinds.contains(item.box.kind) && std::none_of(item.items.begin(), item.items.end(), [&](const PictureItem& inner) {
            return inner.is_box && kinds.contains(inner.box.kind);
          }))
        found.push_back({path.size(), leaves(item), found.size(), path});
      find(item, kinds, path, found);
      path.pop_back();
    }
  }

  /// Collapses everything: to one leaf for each device, and one for outputs.
  void everything() {
    for (PictureItem& device : devices_) {
      if (device.items.empty()) continue;
      PictureNode all, outputs;
      all.kind = PictureNode::Kind::part;
      outputs.kind = PictureNode::Kind::output;
      all.device = outputs.device = device.box.device;
      for (const PictureItem& item : device.items) absorb_all(item, !item.is_box && item.leaf.nodes.empty() ? outputs : all);
      device.items.clear();
      for (PictureNode* leaf : {&all, &outputs}) {
        if (leaf->nodes.empty() && leaf->outputs.empty()) continue;
        device.items.emplace_back().leaf = std::move(*leaf);
      }
    }
  }

  std::vector<PictureItem>& devices_;
  const Graph& graph_;
  const std::size_t most_;
  std::size_t count_ = 0;
};

}  // namespace

void collapse_runs(PictureItem& root, const Plan& plan, const NodeFacts& facts) {
  Runs(plan, facts).collapse(root);
}

void collapse_to(std::vector<PictureItem>& devices, const Plan& plan, std::size_t most) {
  Collapse(devices, *plan.graph, most).run();
}

}  // namespace cleave::planner
