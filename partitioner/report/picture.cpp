// Makes the picture of a plan: collects the facts that the steps need, builds a tree for each device, collapses and flattens the trees, and
// adds edges between the remaining nodes.
#include "partitioner/report/picture.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "graph/base/check.h"
#include "graph/states.h"
#include "partitioner/apply/deliveries.h"
#include "partitioner/machine/value_uses.h"
#include "partitioner/report/picture_tree.h"

namespace cleave::planner {
namespace {

constexpr std::size_t kFewest = 60, kMost = 120, kNodesEach = 50;

/// The most nodes in a picture: as many as a reader can take in, more for larger programs.
std::size_t suitable(std::size_t nodes) {
  return std::clamp(nodes / kNodesEach, kFewest, kMost);
}

NodeFacts facts_of(const Plan& plan, const Deliveries& deliveries) {
  const std::size_t size = plan.graph->nodes.size();
  NodeFacts facts{std::vector<std::vector<std::size_t>>(size),
                  std::vector<char>(size),
                  std::vector<char>(size),
                  std::vector<char>(size),
                  std::vector<char>(size),
                  std::vector<char>(size)};
  for (std::size_t i = 0; i < size; ++i) {
    const Node& node = plan.graph->nodes[NodeId(i)];
    facts.idle[i] = node.kind == NodeKind::counter && plan.costed.uses->of(node.results[0]).empty();
  }
  for (std::size_t i = 0; i < plan.round_trips.size(); ++i) {
    facts.blamed[plan.round_trips[i].blamed.index] = 1;
    for (const auto* nodes : {&plan.round_trips[i].through, &plan.round_trips[i].controls, &plan.round_trips[i].starts}) {
      for (const NodeId node : *nodes) {
        auto& trips = facts.round_trips[node.index];
        if (trips.empty() || trips.back() != i) trips.push_back(i);
      }
    }
  }
  for (std::size_t i = 0; i < plan.transfers.items.size(); ++i) {
    const Transfer& transfer = plan.transfers.items[i];
    facts.moves[plan.graph->values[transfer.value].producer.index] = 1;
    if (transfer.kind != TransferKind::send) continue;
    for (const ValueUse& use : deliveries.of(i))
      if (use.kind == UseKind::operand) facts.reads_send[use.node.index] = 1;
  }
  return facts;
}

/// Flattens trees into the nodes and boxes of a picture, and knows the picture's node of each copy.
class Flat {
 public:
  Flat(const Plan& plan, const std::vector<PictureItem>& devices, Picture& picture) : picture_(picture) {
    for (auto& nodes : node_of_) nodes.assign(plan.graph->nodes.size(), kNone);
    output_.assign(plan.graph->outputs.size(), kNone);
    for (const PictureItem& device : devices) add(device, kNone);
  }

  static constexpr std::size_t kNone = PictureBox::kNone;
  [[nodiscard]] std::size_t node(NodeId node, DeviceId device) const { return node_of_[device == kHost ? 0 : 1][node.index]; }
  [[nodiscard]] std::size_t output(std::size_t index) const { return output_[index]; }

 private:
  void add(const PictureItem& item, std::size_t parent) {
    if (item.is_box) {
      const std::size_t box = picture_.boxes.size();
      picture_.boxes.push_back(item.box);
      picture_.boxes.back().parent = parent;
      for (const PictureItem& inner : item.items) add(inner, box);
      return;
    }
    const std::size_t number = picture_.nodes.size();
    for (const NodeId node : item.leaf.nodes) node_of_[item.leaf.device == kHost ? 0 : 1][node.index] = number;
    for (const std::size_t output : item.leaf.outputs) output_[output] = number;
    picture_.nodes.push_back(item.leaf);
    picture_.nodes.back().box = parent;
    picture_.collapsed |= item.leaf.nodes.size() > 1 || item.leaf.outputs.size() > 1;
  }

  Picture& picture_;
  std::vector<std::size_t> node_of_[2];
  std::vector<std::size_t> output_;
};

class Edges {
 public:
  Edges(const Plan& plan, const Deliveries& deliveries, const Flat& flat, Picture& picture)
      : plan_(plan), graph_(*plan.graph), uses_(*plan.costed.uses), deliveries_(deliveries), flat_(flat), picture_(picture) {
    const std::vector<bool> stays = followed_outputs(graph_);
    for (std::size_t i = 0; i < graph_.outputs.size(); ++i)
      if (!stays[i]) outputs_of_[graph_.outputs[i].value].push_back(i);
  }

  /// Adds all edges. A transfer with several readers ends in a node of its own if the picture then has at most `most` nodes.
  void run(std::size_t most) {
    for (std::size_t i = 0; i < graph_.values.size(); ++i) local(ValueId(i));
    for (const auto& [ends, kind] : local_) push({kind, ends.first, ends.second, false, {}, 0, {}});
    for (std::size_t i = 0; i < plan_.transfers.items.size(); ++i) collect(i);
    const auto shared = static_cast<std::size_t>(
        std::count_if(bundles_.begin(), bundles_.end(), [](const Bundle& bundle) { return bundle.readers.size() > 1; }));
    const bool arrivals = picture_.nodes.size() + shared <= most;
    for (const Bundle& bundle : bundles_) draw(bundle, arrivals);
  }

 private:
  using Readers = std::vector<std::pair<std::size_t, PictureEdge::Kind>>;  ///< nodes, in the picture's order
  struct Bundle {
    PictureEdge edge;
    Readers readers;
  };

  static PictureEdge::Kind kind_of(const ValueUse& use) {
    if (use.kind == UseKind::yielded) return PictureEdge::Kind::carries;
    return use.kind == UseKind::predicate || use.kind == UseKind::count ? PictureEdge::Kind::decides : PictureEdge::Kind::reads;
  }

  /// Adds the picture's nodes on one device that belong to a use.
  void add_readers(const ValueUse& use, ValueId value, DeviceId device, Readers& readers) const {
    if (use.kind == UseKind::output) {
      for (const std::size_t output : outputs_of_.at(value)) readers.emplace_back(flat_.output(output), PictureEdge::Kind::reads);
    } else if (const std::size_t node = flat_.node(use.node, device); node != Flat::kNone) {
      readers.emplace_back(node, kind_of(use));
    }
  }
  /// Sorts readers and removes duplicates. If a node reads in several ways, the first kind of PictureEdge::Kind remains.
  static void sort(Readers& readers) {
    std::sort(readers.begin(), readers.end());
    readers.erase(std::unique(readers.begin(), readers.end(), [](const auto& a, const auto& b) { return a.first == b.first; }),
                  readers.end());
  }

  void local(ValueId value) {
    const NodeId producer = graph_.values[value].producer;
    for (const DeviceId device : {kHost, kAccelerator}) {
      const std::size_t from = flat_.node(producer, device);
      if (from == Flat::kNone) continue;
      Readers readers;
      for (const ValueUse& use : uses_.of(value))
        if (reads_on(plan_.placement, use, device)) add_readers(use, value, device, readers);
      sort(readers);
      for (const auto& [to, kind] : readers) {
        if (to == from) continue;
        const auto [at, fresh] = local_.try_emplace({from, to}, kind);
        at->second = std::min(at->second, kind);
      }
    }
  }

  /// Adds a transfer to the bundle of transfers with the same ends.
  void collect(std::size_t index) {
    const Transfer& transfer = plan_.transfers.items[index];
    Bundle bundle;
    bundle.edge.kind = transfer.kind == TransferKind::argument ? PictureEdge::Kind::argument
                       : transfer.kind == TransferKind::result ? PictureEdge::Kind::result
                                                               : PictureEdge::Kind::send;
    bundle.edge.from = flat_.node(graph_.values[transfer.value].producer, transfer.from);
    for (const ValueUse& use : deliveries_.of(index)) add_readers(use, transfer.value, transfer.to, bundle.readers);
    sort(bundle.readers);
    CLEAVE_CHECK(bundle.edge.from != Flat::kNone && !bundle.readers.empty(), "both ends of a transfer are drawn");
    const auto [at, fresh] =
        bundle_of_.try_emplace({bundle.edge.from, bundle.edge.kind, transfer.round_trip >= 0, bundle.readers}, bundles_.size());
    if (fresh) bundles_.push_back(std::move(bundle));
    PictureEdge& edge = bundles_[at->second].edge;
    edge.transfers.push_back(index);
    if (transfer.round_trip >= 0) edge.round_trips.push_back(static_cast<std::size_t>(transfer.round_trip));
  }

  void draw(const Bundle& bundle, bool arrivals) {
    PictureEdge edge = bundle.edge;
    std::sort(edge.round_trips.begin(), edge.round_trips.end());
    edge.round_trips.erase(std::unique(edge.round_trips.begin(), edge.round_trips.end()), edge.round_trips.end());
    edge.to = bundle.readers[0].first;
    if (bundle.readers.size() > 1 && arrivals) {
      edge.to = arrival(bundle.readers);
      for (const auto& [reader, kind] : bundle.readers) picture_.edges.push_back({kind, edge.to, reader, false, {}, 0, edge.round_trips});
    } else if (bundle.readers.size() > 1) {
      edge.readers = bundle.readers.size();
    }
    const bool decides = bundle.readers[0].second == PictureEdge::Kind::decides;
    push(std::move(edge));
    // A loop reads its predicate after its body.
    if (decides) picture_.edges.back().backwards = false;
  }

  std::size_t arrival(const Readers& readers) {
    PictureNode node;
    node.kind = PictureNode::Kind::arrival;
    node.device = picture_.nodes[readers[0].first].device;
    node.box = picture_.nodes[readers[0].first].box;
    for (const auto& [reader, kind] : readers) {
      // Parents come before their children, so going up from the later box finds the common one.
      for (std::size_t other = picture_.nodes[reader].box; other != node.box;)
        (other > node.box ? other : node.box) = picture_.boxes[std::max(other, node.box)].parent;
    }
    picture_.nodes.push_back(std::move(node));
    return picture_.nodes.size() - 1;
  }

  void push(PictureEdge edge) {
    edge.backwards = begin(edge.from) >= begin(edge.to);
    // Within repetitions drawn once, such an edge leads to the next repetition, like a loop-carried value to the next iteration.
    if (edge.backwards && edge.kind == PictureEdge::Kind::reads) edge.kind = PictureEdge::Kind::carries;
    picture_.edges.push_back(std::move(edge));
  }
  /// The position of a node in the program. Outputs and arrivals come last.
  [[nodiscard]] std::int64_t begin(std::size_t node) const {
    const std::vector<NodeId>& nodes = picture_.nodes[node].nodes;
    return nodes.empty() ? std::numeric_limits<std::int64_t>::max() : uses_.begin(nodes[0]);
  }

  const Plan& plan_;
  const Graph& graph_;
  const ValueUses& uses_;
  const Deliveries& deliveries_;
  const Flat& flat_;
  Picture& picture_;
  std::map<ValueId, std::vector<std::size_t>> outputs_of_;
  std::map<std::pair<std::size_t, std::size_t>, PictureEdge::Kind> local_;
  std::map<std::tuple<std::size_t, PictureEdge::Kind, bool, Readers>, std::size_t> bundle_of_;
  std::vector<Bundle> bundles_;
};

std::vector<PictureItem> trees(const Plan& plan, const NodeFacts& facts, bool full) {
  std::vector<PictureItem> devices{picture_tree(plan, facts, kHost), picture_tree(plan, facts, kAccelerator)};
  for (PictureItem& device : devices) {
    if (!full) collapse_runs(device, plan, facts);
    dissolve_small_scopes(device);
    if (!full) fold_repeats(device, plan, facts);
  }
  return devices;
}

/// Marks operations that must not be folded: they are alike on their side, but the other side does not repeat between them, so that the
/// folded node would be the center of a star of transfers. Returns false if there are none.
bool mark_stars(const Plan& plan, const Deliveries& deliveries, const std::vector<PictureItem>& devices, NodeFacts& facts) {
  constexpr std::size_t kMostPartners = 8;
  Picture picture;
  const Flat flat(plan, devices, picture);
  std::vector<std::set<std::size_t>> partners(picture.nodes.size());
  for (std::size_t i = 0; i < plan.transfers.items.size(); ++i) {
    const Transfer& transfer = plan.transfers.items[i];
    const std::size_t from = flat.node(plan.graph->values[transfer.value].producer, transfer.from);
    for (const ValueUse& use : deliveries.of(i)) {
      const std::size_t to = use.kind == UseKind::output ? Flat::kNone : flat.node(use.node, transfer.to);
      if (from == Flat::kNone || to == Flat::kNone) continue;
      partners[from].insert(to);
      partners[to].insert(from);
    }
  }
  bool any = false;
  for (std::size_t i = 0; i < picture.nodes.size(); ++i) {
    const PictureNode& node = picture.nodes[i];
    if (node.times == 1 || partners[i].size() <= kMostPartners || plan.graph->nodes[node.nodes[0]].op == nullptr) continue;
    for (const NodeId id : node.nodes) facts.single[id.index] = 1;
    any = true;
  }
  return any;
}

}  // namespace

Picture make_picture(const Plan& plan, const PictureOptions& options) {
  const Deliveries deliveries(*plan.graph, *plan.costed.uses, plan.placement, plan.transfers.items);
  NodeFacts facts = facts_of(plan, deliveries);
  std::vector<PictureItem> devices = trees(plan, facts, options.full);
  if (!options.full && mark_stars(plan, deliveries, devices, facts)) devices = trees(plan, facts, options.full);
  const std::size_t fitting = options.most_nodes > 0 ? options.most_nodes : suitable(plan.graph->nodes.size());
  const std::size_t most = options.full ? static_cast<std::size_t>(-1) : fitting;
  if (!options.full) collapse_to(devices, plan, most);
  Picture picture;
  const Flat flat(plan, devices, picture);
  Edges(plan, deliveries, flat, picture).run(most);
  return picture;
}

}  // namespace cleave::planner
