// The network: a class has a variable x (source side: it keeps its first option) and, if it may have both options, a variable y (source
// side: no copy on device `to`). For each value and each device that needs it there is a tree of auxiliary vertices over the regions, as
// with one accelerator, whose price depends on the producer: one if it keeps its first option, and another if it moves.
#include "partitioner/devices/device_move.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "partitioner/devices/placed_devices.h"
#include "partitioner/flow/min_cut.h"
#include "partitioner/solver/memory_capacity.h"

namespace cleave::planner {
namespace {

constexpr std::int32_t kSource = -1, kSink = -2;
constexpr std::int64_t kInfinite = std::int64_t{1} << 61;
constexpr std::size_t kHostDevice = 0;

/// A use that needs a value in a region if its literal is on the tree's demanding side.
struct TreeDemand {
  std::int32_t region = 0;
  std::int32_t literal = 0;
};

/// The values that any of the classes produces or reads, ascending.
std::vector<std::int32_t> values_of(const DeviceClasses& classes, const std::vector<std::int32_t>& some) {
  std::vector<std::int32_t> values;
  for (const std::int32_t c : some) values.insert(values.end(), classes.values[c].begin(), classes.values[c].end());
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

class MoveNetwork {
 public:
  MoveNetwork(const DeviceProblem& problem, const DeviceClasses& classes, const UsesByValue& uses, const MoveOptions& options)
      : problem_(problem), classes_(classes), uses_(uses), options_(options), free_(options.free_classes()), span_(problem.base.regions) {}

  void build();
  MoveChoice solve();

 private:
  struct Arc {
    std::int32_t from = 0, to = 0;
    double capacity = 0;  ///< negative: infinite
  };
  /// How a value gets from a set of copies to a device that has none: the cheapest choice that does not depend on other devices.
  struct Way {
    double seconds = 0;
    bool by_host = false;
  };

  void variables();
  void executions();
  void savings();
  void add_saving(const PlacementProblem::Saving& saving, std::size_t device, double amount);
  void transfers(std::size_t v);
  void deliveries(std::size_t v, std::int32_t producer);
  void to_host(std::size_t v, std::int32_t producer);
  [[nodiscard]] Way way(std::size_t v, DeviceSet copies, std::size_t device) const;
  [[nodiscard]] bool needs_host(std::size_t v, DeviceSet copies, DeviceSet readers) const;
  [[nodiscard]] double host_price(std::size_t v, DeviceSet copies) const;
  void tree(std::size_t v, bool moved, std::int32_t hung, double seconds, const std::vector<TreeDemand>& demands);

  [[nodiscard]] bool free(std::size_t c) const { return options_.first[c] != options_.second[c]; }
  std::int32_t add_vertex() { return vertices_++; }
  void arc(std::int32_t from, std::int32_t to, double capacity);
  void infinite(std::int32_t from, std::int32_t to) {
    if (from != to && from != kSink && to != kSource) arcs_.push_back({from, to, -1});
  }

  const DeviceProblem& problem_;
  const DeviceClasses& classes_;
  const UsesByValue& uses_;
  const MoveOptions& options_;
  const std::vector<std::int32_t> free_;
  RegionSpan span_;
  std::vector<std::int32_t> x_, y_;  ///< per class
  std::vector<Arc> arcs_;
  std::int32_t vertices_ = 0;
  double constant_ = 0;
  bool rounded_ = false;
  std::array<std::vector<TreeDemand>, DeviceSet::kMost> demands_;  ///< of the current value, by device
  /// The demands of the current value's way to the host: while its producer keeps its first option, by every option of the reader, by
  /// its first one only, by its second one only; and if the producer moves.
  std::vector<TreeDemand> certain_, staying_, moving_, second_;
  std::vector<std::int32_t> slot_vertex_;
};

void MoveNetwork::arc(std::int32_t from, std::int32_t to, double capacity) {
  if (from == to || capacity <= 0 || from == kSink || to == kSource) return;
  if (from == kSource && to == kSink) {
    constant_ += capacity;
  } else {
    arcs_.push_back({from, to, capacity});
  }
}

void MoveNetwork::variables() {
  x_.assign(classes_.size(), kSource);
  y_.assign(classes_.size(), kSource);
  for (const std::int32_t c : free_) {
    const DeviceSet first = options_.first[c];
    const bool there = first.has(options_.to);
    if (there) {  // the option is to give up the other copies
      y_[c] = kSink;
      if (first.has(kHostDevice)) {
        x_[c] = add_vertex();
      } else {
        rounded_ = true;  // a copy that is given up may have been the cheaper one to send to the host
      }
      continue;
    }
    x_[c] = add_vertex();
    y_[c] = options_.copies && classes_.replicable[c] ? add_vertex() : x_[c];
    infinite(y_[c], x_[c]);
  }
}

void MoveNetwork::executions() {
  for (const std::int32_t c : free_) {
    double keep = 0, move = 0, always = 0;
    for (const std::int32_t node : classes_.nodes[c]) {
      const double frequency = problem_.base.regions[problem_.base.nodes[node].region].frequency;
      for_each_device(options_.first[c],
                      [&](std::size_t device) { (device != options_.to ? keep : always) += frequency * problem_.seconds(node, device); });
      if (!options_.first[c].has(options_.to)) move += frequency * problem_.seconds(node, options_.to);
    }
    constant_ += always;
    arc(x_[c], kSink, keep);
    arc(kSource, y_[c], move);
  }
}

MoveNetwork::Way MoveNetwork::way(std::size_t v, DeviceSet copies, std::size_t device) const {
  if (copies.has(device)) return {0, false};
  const double link = problem_.from_host_seconds(v, device);
  double peer = DeviceProblem::kNever;
  if (!problem_.peers.empty() && device != kHostDevice) {
    for_each_device(copies.without(DeviceSet::only(kHostDevice)),
                    [&](std::size_t source) { peer = std::min(peer, problem_.peer_seconds(v, source, device)); });
  }
  return peer < link || (peer == link && !copies.has(kHostDevice)) ? Way{peer, false} : Way{link, true};
}

/// Whether a reader with copies on `readers` needs the value on the host, given that it has the copies `copies`.
bool MoveNetwork::needs_host(std::size_t v, DeviceSet copies, DeviceSet readers) const {
  if (copies.has(kHostDevice)) return false;
  bool needs = false;
  for_each_device(readers.without(copies), [&](std::size_t device) { needs |= device == kHostDevice || way(v, copies, device).by_host; });
  return needs;
}

double MoveNetwork::host_price(std::size_t v, DeviceSet copies) const {
  double least = DeviceProblem::kNever;
  for_each_device(copies, [&](std::size_t device) { least = std::min(least, problem_.to_host_seconds(v, device)); });
  return least;
}

/// A transfer of value v that costs `seconds` each time. `moved`: it is needed by demands whose literals are on the sink's side, and free
/// if `hung` is there too; otherwise it is needed by literals on the source's side, and free if `hung` is there too.
void MoveNetwork::tree(std::size_t v, bool moved, std::int32_t hung, double seconds, const std::vector<TreeDemand>& demands) {
  const std::int32_t never = moved ? kSource : kSink, free_side = moved ? kSink : kSource;
  if (seconds <= 0 || hung == free_side) return;
  const auto directed = [&](std::int32_t from, std::int32_t to, double capacity) {
    moved ? arc(from, to, capacity) : arc(to, from, capacity);
  };
  const auto needs = [&](const TreeDemand& demand) { return demand.literal != hung && demand.literal != never; };
  const auto count = std::count_if(demands.begin(), demands.end(), needs);
  if (count == 0) return;
  const std::int32_t top = problem_.base.values[v].region;
  span_.restart(top);
  const auto& slots = span_.slots();
  slot_vertex_.clear();
  const auto region_seconds = [&](std::size_t slot) { return problem_.base.regions[slots[slot].region].frequency * seconds; };
  const bool flat =
      std::all_of(demands.begin(), demands.end(), [&](const TreeDemand& demand) { return demand.region == top || !needs(demand); });
  if (flat && count == 1) {
    for (const TreeDemand& demand : demands)
      if (needs(demand)) directed(hung, demand.literal, region_seconds(0));
    return;
  }
  for (const TreeDemand& demand : demands) {
    if (!needs(demand)) continue;
    const auto slot = static_cast<std::size_t>(span_.add(demand.region));
    while (slot_vertex_.size() < slots.size()) slot_vertex_.push_back(add_vertex());
    moved ? infinite(slot_vertex_[slot], demand.literal) : infinite(demand.literal, slot_vertex_[slot]);
  }
  for (std::size_t slot = 0; slot < slots.size(); ++slot)
    directed(slot == 0 ? hung : slot_vertex_[static_cast<std::size_t>(slots[slot].parent)], slot_vertex_[slot], region_seconds(slot));
}

/// The ways to each device but the host.
void MoveNetwork::deliveries(std::size_t v, std::int32_t producer) {
  const DeviceSet first = options_.first[producer], second = options_.second[producer];
  DeviceSet needed;
  for (std::int32_t i = uses_.start[v]; i < uses_.start[v + 1]; ++i) {
    const auto& use = problem_.base.uses[uses_.order[i]];
    const auto reader = static_cast<std::size_t>(classes_.class_of[use.node]);
    const DeviceSet stay = options_.first[reader], move = options_.second[reader];
    for_each_device((stay | move).without(DeviceSet::only(kHostDevice)), [&](std::size_t device) {
      if (!needed.has(device)) demands_[device].clear();
      needed = needed | DeviceSet::only(device);
      const bool moved = device == options_.to;
      const std::int32_t certain = moved ? kSink : kSource;
      const std::int32_t literal = stay.has(device) && (move.has(device) || !free(reader)) ? certain
                                   : stay.has(device)                                      ? x_[reader]
                                                                                           : y_[reader];
      demands_[device].push_back({use.region, literal});
    });
  }
  for_each_device(needed, [&](std::size_t device) {
    const double stays = way(v, first, device).seconds;
    if (device == options_.to) return tree(v, true, y_[producer], stays, demands_[device]);
    tree(v, false, kSink, stays, demands_[device]);
    if (!free(static_cast<std::size_t>(producer))) return;
    const double moves = way(v, second, device).seconds;
    rounded_ |= moves < stays;
    tree(v, false, x_[producer], moves - stays, demands_[device]);
  });
}

/// The way to the host, for readers there and for devices behind it.
void MoveNetwork::to_host(std::size_t v, std::int32_t producer) {
  const auto p = static_cast<std::size_t>(producer);
  const DeviceSet first = options_.first[p], second = options_.second[p];
  const double stays = host_price(v, first), moves = host_price(v, second);
  if (stays <= 0 && moves <= 0) return;
  for (std::vector<TreeDemand>* demands : {&certain_, &staying_, &moving_, &second_}) demands->clear();
  bool elsewhere = false;  // a reader needs the host even if the producer has the copies of both options
  for (std::int32_t i = uses_.start[v]; i < uses_.start[v + 1]; ++i) {
    const auto& use = problem_.base.uses[uses_.order[i]];
    const auto reader = static_cast<std::size_t>(classes_.class_of[use.node]);
    const DeviceSet stay = options_.first[reader], move = options_.second[reader];
    const bool if_stays = needs_host(v, first, stay), if_moves = free(reader) ? needs_host(v, first, move) : if_stays;
    if (if_stays && if_moves) certain_.push_back({use.region, kSink});
    if (if_stays && !if_moves) staying_.push_back({use.region, x_[reader]});
    if (!if_stays && if_moves) moving_.push_back({use.region, y_[reader]});
    if (!free(p)) continue;
    elsewhere |= (if_stays && needs_host(v, first | second, stay)) || (if_stays && if_moves && needs_host(v, first | second, move));
    const bool then_stays = needs_host(v, second, stay), then_moves = free(reader) ? needs_host(v, second, move) : then_stays;
    rounded_ |= !then_stays && then_moves;
    if (then_stays || then_moves) second_.push_back({use.region, then_moves ? kSource : x_[reader]});
  }
  if (!free(p) && moving_.empty()) {
    for (const TreeDemand& demand : certain_) staying_.push_back({demand.region, kSource});
    return tree(v, false, kSink, stays, staying_);
  }
  rounded_ |= !staying_.empty();
  for (const TreeDemand& demand : staying_) certain_.push_back({demand.region, kSink});
  moving_.insert(moving_.end(), certain_.begin(), certain_.end());
  const bool may_add = y_[p] != x_[p] && !first.has(options_.to);
  rounded_ |= may_add && elsewhere;
  tree(v, true, may_add && !elsewhere ? y_[p] : x_[p], stays, moving_);
  if (free(p)) tree(v, false, x_[p], moves, second_);
}

void MoveNetwork::transfers(std::size_t v) {
  const std::int32_t producer = classes_.class_of[problem_.base.values[v].node];
  deliveries(v, producer);
  to_host(v, producer);
}

/// A saving applies on a device if all members are there: literals of one orientation.
void MoveNetwork::add_saving(const PlacementProblem::Saving& saving, std::size_t device, double amount) {
  const bool moved = device == options_.to;
  std::vector<std::int32_t> members;
  bool possible = true;
  const auto add = [&](std::int32_t node) {
    const auto c = static_cast<std::size_t>(classes_.class_of[node]);
    const DeviceSet first = options_.first[c], second = options_.second[c], alone = DeviceSet::only(device);
    const bool stays = saving.alone ? first == alone : first.has(device), moves = saving.alone ? second == alone : second.has(device);
    if (stays && (moves || !free(c))) return;
    if (!free(c) || (!stays && !moves)) {
      possible = false;
    } else if (stays) {
      members.push_back(saving.alone ? y_[c] : x_[c]);
    } else {
      members.push_back(saving.alone ? x_[c] : y_[c]);
    }
  };
  add(saving.node);
  for (const std::int32_t node : saving.with) add(node);
  possible &= std::find(members.begin(), members.end(), moved ? kSource : kSink) == members.end();
  if (!possible) return;
  constant_ -= amount;
  std::sort(members.begin(), members.end());
  members.erase(std::unique(members.begin(), members.end()), members.end());
  members.erase(std::remove_if(members.begin(), members.end(), [](std::int32_t m) { return m < 0; }), members.end());
  if (members.empty()) return;
  const std::int32_t all = members.size() == 1 ? members[0] : add_vertex();
  moved ? arc(all, kSink, amount) : arc(kSource, all, amount);
  if (members.size() == 1) return;
  for (const std::int32_t member : members) moved ? infinite(member, all) : infinite(all, member);
}

void MoveNetwork::savings() {
  for (const auto& saving : problem_.base.savings) {
    const double frequency = problem_.base.regions[problem_.base.nodes[saving.node].region].frequency;
    const auto c = static_cast<std::size_t>(classes_.class_of[saving.node]);
    for_each_device(options_.first[c] | options_.second[c], [&](std::size_t device) {
      const double seconds = device == kHostDevice ? saving.host_seconds : saving.accelerator_seconds;
      if (seconds > 0) add_saving(saving, device, frequency * seconds);
    });
  }
}

void MoveNetwork::build() {
  variables();
  for (const std::int32_t v : values_of(classes_, free_)) transfers(static_cast<std::size_t>(v));
  executions();
  savings();
}

MoveChoice MoveNetwork::solve() {
  MoveChoice choice;
  choice.on = options_.first;
  choice.rounded = rounded_ || !problem_.peers.empty();
  choice.work = static_cast<double>(vertices_) + static_cast<double>(arcs_.size());
  double total = 0;
  for (const Arc& arc : arcs_) total += std::max(arc.capacity, 0.0);
  int exponent = 0;
  std::frexp(total, &exponent);
  const double per_second = total > 0 ? std::ldexp(1.0, 59 - exponent) : 1;
  CutNetwork network;
  network.source_capacity.assign(static_cast<std::size_t>(vertices_), 0);
  network.sink_capacity.assign(static_cast<std::size_t>(vertices_), 0);
  network.arcs.reserve(arcs_.size());
  for (const Arc& arc : arcs_) {
    const std::int64_t units = arc.capacity < 0 ? kInfinite : std::max<std::int64_t>(1, std::llround(arc.capacity * per_second));
    if (arc.from >= 0 && arc.to >= 0) {
      network.arcs.push_back({arc.from, arc.to, units, 0});
    } else {
      std::int64_t& terminal = arc.from == kSource ? network.source_capacity[arc.to] : network.sink_capacity[arc.from];
      terminal = std::min(terminal + units, kInfinite);
    }
  }
  const double room = options_.to == kHostDevice ? 0 : problem_.accelerators[options_.to - 1].memory_bytes;
  std::vector<bool> source_side;
  if (room > 0) {
    std::vector<double> weights(static_cast<std::size_t>(vertices_));
    double unavoidable = 0;
    for (std::size_t c = 0; c < classes_.size(); ++c) {
      if (options_.first[c].has(options_.to)) unavoidable += classes_.bytes[c];
      if (free(c) && y_[c] >= 0) weights[y_[c]] += classes_.bytes[c];
    }
    const auto found = cut_within_capacity(network, weights, unavoidable, room, {.max_branches = 20, .max_work = 20 * choice.work + 1e5});
    if (!found) return choice;
    source_side = found->source_side;
    choice.seconds = static_cast<double>(found->value) / per_second + constant_;
  } else {
    Cut cut = min_cut(network);
    source_side = std::move(cut.source_side);
    choice.seconds = static_cast<double>(cut.value) / per_second + constant_;
  }
  for (const std::int32_t c : free_) {
    const bool keeps = x_[c] == kSource || source_side[x_[c]];
    const bool moves = y_[c] == kSink || (y_[c] >= 0 && !source_side[y_[c]]);
    choice.on[c] = (keeps ? options_.first[c] : DeviceSet()) | (moves ? DeviceSet::only(options_.to) : DeviceSet());
  }
  return choice;
}

}  // namespace

std::vector<std::int32_t> MoveOptions::free_classes() const {
  std::vector<std::int32_t> free;
  for (std::size_t c = 0; c < first.size(); ++c)
    if (first[c] != second[c]) free.push_back(static_cast<std::int32_t>(c));
  return free;
}

MoveOptions expansion(const DeviceClasses& classes, const std::vector<DeviceSet>& on, std::size_t to,
                      const std::vector<std::uint8_t>* movable) {
  MoveOptions options{to, on, on, true};
  for (std::size_t c = 0; c < on.size(); ++c)
    if (classes.allowed[c].has(to) && (!movable || (*movable)[c])) options.second[c] = DeviceSet::only(to);
  return options;
}

MoveOptions swap_devices(const DeviceClasses& classes, const std::vector<DeviceSet>& on, std::size_t a, std::size_t b,
                         const std::vector<std::uint8_t>* movable) {
  MoveOptions options{b, on, on, false};
  const DeviceSet both = DeviceSet::only(a) | DeviceSet::only(b);
  for (std::size_t c = 0; c < on.size(); ++c) {
    if (on[c].count() != 1 || (on[c] & both).empty() || (classes.allowed[c] & both) != both || (movable && !(*movable)[c])) continue;
    options.first[c] = DeviceSet::only(a);
    options.second[c] = DeviceSet::only(b);
  }
  return options;
}

double changeable_cost(const DeviceProblem& problem, const DeviceClasses& classes, const UsesByValue& uses,
                       const std::vector<std::int32_t>& free_classes, const std::vector<DeviceSet>& on) {
  double sum = 0;
  for (const std::int32_t c : free_classes) {
    for (const std::int32_t node : classes.nodes[c]) {
      const double frequency = problem.base.regions[problem.base.nodes[node].region].frequency;
      for_each_device(on[c], [&](std::size_t device) { sum += frequency * problem.seconds(static_cast<std::size_t>(node), device); });
    }
  }
  return sum + cost_of_routes(problem, uses, values_of(classes, free_classes), classes.class_of, on);
}

MoveChoice best_move(const DeviceProblem& problem, const DeviceClasses& classes, const UsesByValue& uses, const MoveOptions& options) {
  MoveNetwork network(problem, classes, uses, options);
  network.build();
  return network.solve();
}

}  // namespace cleave::planner
