// The routes of one value at a time: first which devices need it, then for each of them a peer link or the host, whichever is cheaper.
#include "partitioner/devices/placed_devices.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "graph/base/units.h"
#include "partitioner/devices/transfer_regions.h"

namespace cleave::planner {
namespace {

class Router {
 public:
  /// `class_of` is null if `on` has one set a node.
  Router(const DeviceProblem& problem, const UsesByValue& uses, const std::vector<DeviceSet>& on, const std::vector<std::int32_t>* class_of)
      : problem_(problem), uses_(uses), on_(on), class_of_(class_of), regions_(problem.base) {}

  /// The cost of the routes of value v; appends its transfers to `transfers` unless that is null.
  double route(std::size_t v, std::vector<RoutedTransfer>* transfers);

 private:
  /// How a value gets to one device.
  struct Way {
    double peer = DeviceProblem::kNever;  ///< seconds of the best direct route
    std::size_t source = 0;               ///< its begin
    double executions = 0;
    bool by_host = true;
  };
  double cost(std::size_t v, DeviceSet there, bool use_host);
  double executions_to(std::size_t v, DeviceSet devices);
  void list(std::size_t v, DeviceSet needed, std::vector<RoutedTransfer>& transfers);

  const DeviceProblem& problem_;
  const UsesByValue& uses_;
  [[nodiscard]] DeviceSet on(std::int32_t node) const { return on_[class_of_ ? (*class_of_)[node] : node]; }

  const std::vector<DeviceSet>& on_;
  const std::vector<std::int32_t>* class_of_;
  TransferRegions regions_;
  std::array<Way, DeviceSet::kMost> ways_{};
  std::size_t host_source_ = 0;  ///< the copy that is sent to the host
  DeviceSet through_host_;       ///< the devices that get the value from the host
  bool host_needs_ = false;      ///< a use on the host, or a device behind it, and no copy there
};

/// Executions of the transfers that bring v to all uses on `devices`.
double Router::executions_to(std::size_t v, DeviceSet devices) {
  regions_.restart(problem_.base.values[v].region);
  for (std::int32_t i = uses_.start[v]; i < uses_.start[v + 1]; ++i) {
    const auto& use = problem_.base.uses[uses_.order[i]];
    if (!(on(use.node) & devices).empty()) regions_.need(use.region);
  }
  return regions_.executions();
}

/// The cost with the present choice of ways: `use_host` lets each device take the cheaper one, otherwise peers are taken where there are.
double Router::cost(std::size_t v, DeviceSet there, bool use_host) {
  const DeviceSet copies = on(problem_.base.values[v].node);
  double total = 0;
  through_host_ = {};
  for_each_device(there.without(DeviceSet::only(0)), [&](std::size_t device) {
    Way& way = ways_[device];
    const double link = problem_.from_host_seconds(v, device);
    way.by_host = use_host ? link <= way.peer : way.peer == DeviceProblem::kNever;
    total += way.executions * (way.by_host ? link : way.peer);
    if (way.by_host) through_host_ = through_host_ | DeviceSet::only(device);
  });
  const DeviceSet behind = through_host_ | (there & DeviceSet::only(0));
  host_needs_ = !copies.has(std::size_t{0}) && !behind.empty();
  if (host_needs_) total += executions_to(v, behind) * problem_.to_host_seconds(v, host_source_);
  return total;
}

double Router::route(std::size_t v, std::vector<RoutedTransfer>* transfers) {
  const DeviceSet copies = on(problem_.base.values[v].node);
  DeviceSet needed;
  for (std::int32_t i = uses_.start[v]; i < uses_.start[v + 1]; ++i) needed = needed | on(problem_.base.uses[uses_.order[i]].node);
  needed = needed.without(copies);
  if (needed.empty()) return 0;
  double least = DeviceProblem::kNever;
  for_each_device(copies, [&](std::size_t device) {
    const double seconds = problem_.to_host_seconds(v, device);
    if (seconds < least) {
      least = seconds;
      host_source_ = device;
    }
  });
  bool peers = false;
  for_each_device(needed.without(DeviceSet::only(0)), [&](std::size_t device) {
    Way& way = ways_[device];
    way = {};
    way.executions = executions_to(v, DeviceSet::only(device));
    if (problem_.peers.empty()) return;
    for_each_device(copies.without(DeviceSet::only(0)), [&](std::size_t source) {
      const double seconds = problem_.peer_seconds(v, source, device);
      if (seconds < way.peer) {
        way.peer = seconds;
        way.source = source;
      }
    });
    peers |= way.peer != DeviceProblem::kNever;
  });
  double total = cost(v, needed, true);
  if (peers && host_needs_) {
    const double direct = cost(v, needed, false);
    if (direct <= total) {
      total = direct;
    } else {
      total = cost(v, needed, true);
    }
  }
  if (transfers) list(v, needed, *transfers);
  return total;
}

void Router::list(std::size_t v, DeviceSet needed, std::vector<RoutedTransfer>& transfers) {
  const auto add = [&](std::size_t from, std::size_t to, DeviceSet devices) {
    executions_to(v, devices);
    for (const std::int32_t region : regions_.regions())
      transfers.push_back({static_cast<std::int32_t>(v), DeviceId(from), DeviceId(to), region});
  };
  if (host_needs_) add(host_source_, 0, through_host_ | (needed & DeviceSet::only(0)));
  for_each_device(needed.without(DeviceSet::only(0)),
                  [&](std::size_t device) { add(ways_[device].by_host ? 0 : ways_[device].source, device, DeviceSet::only(device)); });
}

/// Whether a saving applies on a device.
bool applies(const PlacementProblem::Saving& saving, const std::vector<DeviceSet>& on, std::size_t device) {
  const auto here = [&](std::int32_t node) { return saving.alone ? on[node] == DeviceSet::only(device) : on[node].has(device); };
  return here(saving.node) && std::all_of(saving.with.begin(), saving.with.end(), here);
}

double executions_of_nodes(const DeviceProblem& problem, const std::vector<DeviceSet>& on) {
  double total = 0;
  for (std::size_t i = 0; i < on.size(); ++i) {
    const double frequency = problem.base.regions[problem.base.nodes[i].region].frequency;
    for_each_device(on[i], [&](std::size_t device) { total += frequency * problem.seconds(i, device); });
  }
  for (const auto& saving : problem.base.savings) {
    const double frequency = problem.base.regions[problem.base.nodes[saving.node].region].frequency;
    for_each_device(on[saving.node], [&](std::size_t device) {
      if (!applies(saving, on, device)) return;
      total -= frequency * (device == 0 ? saving.host_seconds : saving.accelerator_seconds);
    });
  }
  return std::max(total, 0.0);
}

double all_routes(const DeviceProblem& problem, const UsesByValue& uses, const std::vector<DeviceSet>& on,
                  std::vector<RoutedTransfer>* transfers) {
  Router router(problem, uses, on, nullptr);
  double total = 0;
  for (std::size_t v = 0; v < problem.base.values.size(); ++v)
    if (uses.start[v] != uses.start[v + 1]) total += router.route(v, transfers);
  return total;
}

std::string node_text(const DeviceProblem& problem, std::size_t node) {
  const auto& names = problem.base.names;
  return "node " + std::to_string(node) + (names.empty() || names[node].empty() ? "" : " (" + names[node] + ")");
}

void verify_uses(const DeviceProblem& problem, const PlacedDevices& placement, std::vector<std::string>& broken) {
  const RegionTree tree(problem.base.regions);
  std::map<std::pair<std::int32_t, std::uint32_t>, std::vector<std::int32_t>> arrivals;  // by value and device
  for (const RoutedTransfer& transfer : placement.transfers) arrivals[{transfer.value, transfer.to.index}].push_back(transfer.region);
  const auto reaches = [&](std::int32_t value, std::size_t device, std::int32_t region) {
    if (placement.on[problem.base.values[value].node].has(device)) return true;
    const auto found = arrivals.find({value, static_cast<std::uint32_t>(device)});
    return found != arrivals.end() &&
           std::any_of(found->second.begin(), found->second.end(), [&](std::int32_t from) { return tree.within(region, from); });
  };
  for (const RoutedTransfer& transfer : placement.transfers) {
    if (!reaches(transfer.value, transfer.from.index, transfer.region))
      broken.push_back("value " + std::to_string(transfer.value) + " is sent from " + device_name(transfer.from) +
                       ", which does not have it");
  }
  for (std::size_t i = 0; i < problem.base.uses.size(); ++i) {
    const auto& use = problem.base.uses[i];
    for_each_device(placement.on[use.node], [&](std::size_t device) {
      if (!reaches(use.value, device, use.region))
        broken.push_back("use " + std::to_string(i) + " of value " + std::to_string(use.value) + " is not reached on " +
                         device_name(DeviceId(device)));
    });
  }
}

}  // namespace

double cost_of_devices(const DeviceProblem& problem, const UsesByValue& uses, const std::vector<DeviceSet>& on) {
  return executions_of_nodes(problem, on) + all_routes(problem, uses, on, nullptr);
}

double cost_of_routes(const DeviceProblem& problem, const UsesByValue& uses, const std::vector<std::int32_t>& values,
                      const std::vector<std::int32_t>& class_of, const std::vector<DeviceSet>& on) {
  Router router(problem, uses, on, &class_of);
  double total = 0;
  for (const std::int32_t v : values)
    if (uses.start[v] != uses.start[v + 1]) total += router.route(static_cast<std::size_t>(v), nullptr);
  return total;
}

PlacedDevices evaluate_devices(const DeviceProblem& problem, std::vector<DeviceSet> on) {
  PlacedDevices result;
  const UsesByValue uses(problem.base);
  result.objective_seconds = executions_of_nodes(problem, on) + all_routes(problem, uses, on, &result.transfers);
  result.on = std::move(on);
  set_gap(result);
  return result;
}

void set_gap(PlacedDevices& placement) {
  const double difference = placement.objective_seconds - placement.bound_seconds;
  placement.gap = difference > 1e-9 * placement.objective_seconds ? difference / placement.objective_seconds : 0;
}

std::vector<std::string> verify(const DeviceProblem& problem, const PlacedDevices& placement) {
  if (placement.on.size() != problem.base.nodes.size()) return {"the placement has another number of nodes than the problem"};
  std::vector<std::string> broken;
  const auto allowed = allowed_devices(problem);
  if (!allowed) return {allowed.error().message};
  std::vector<double> bytes(problem.devices());
  std::map<std::int32_t, std::size_t> group;
  for (std::size_t i = 0; i < placement.on.size(); ++i) {
    const auto& node = problem.base.nodes[i];
    const DeviceSet on = placement.on[i];
    if (on.empty()) broken.push_back(node_text(problem, i) + " has no copy");
    if (on.count() > 1 && !node.replicable) broken.push_back(node_text(problem, i) + " has several copies, but may have one only");
    if (!on.without((*allowed)[i]).empty())
      broken.push_back(node_text(problem, i) + " has a copy on a device that its pin or its kernels forbid");
    for_each_device(on, [&](std::size_t device) { bytes[device] += device == 0 ? 0 : node.accelerator_bytes; });
    if (node.group == PlacementProblem::kNoGroup) continue;
    const auto [first, added] = group.try_emplace(node.group, i);
    if (!added && placement.on[first->second] != on)
      broken.push_back(node_text(problem, first->second) + " and " + node_text(problem, i) +
                       " are in one group, but not on the same devices");
  }
  for (std::size_t device = 1; device < problem.devices(); ++device) {
    const double room = problem.accelerators[device - 1].memory_bytes;
    if (room > 0 && bytes[device] > room)
      broken.push_back("the copies on " + device_name(DeviceId(device)) + " need " + format_bytes(bytes[device]) +
                       ", more than its memory");
  }
  verify_uses(problem, placement, broken);
  return broken;
}

}  // namespace cleave::planner
