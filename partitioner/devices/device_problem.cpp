// The rules of a well-formed DeviceProblem, and views of it with one accelerator.
#include "partitioner/devices/device_problem.h"

#include <algorithm>
#include <cmath>

#include "partitioner/solver/drivers.h"

namespace cleave::planner {
namespace {

std::string accelerator_path(std::size_t index, const char* field) {
  return "accelerators[" + std::to_string(index) + "]." + field;
}

Status verify_list(const std::vector<double>& list, std::size_t size, const std::string& path, const char* items, bool may_lack) {
  if (list.empty()) return {};
  if (list.size() != size)
    return Error{path + " has " + std::to_string(list.size()) + " numbers, but there are " + std::to_string(size) + " " + items};
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (may_lack && list[i] == DeviceProblem::kNever) continue;
    if (!std::isfinite(list[i]) || list[i] < 0)
      return Error{path + "[" + std::to_string(i) + "] must be a finite number that is not negative"};
  }
  return {};
}

Status verify_peer(const DeviceProblem& problem, std::size_t index) {
  const DeviceProblem::Peer& peer = problem.peers[index];
  const std::string path = "peers[" + std::to_string(index) + "]";
  for (const DeviceId end : {peer.from, peer.to}) {
    if (end != kHost && end.index < problem.devices()) continue;
    return Error{path + ".between names an accelerator that does not exist; there are " + std::to_string(problem.accelerators.size())};
  }
  if (peer.from == peer.to) return Error{path + ".between must name two accelerators"};
  for (std::size_t i = 0; i < index; ++i) {
    const DeviceProblem::Peer& other = problem.peers[i];
    if ((other.from == peer.from && other.to == peer.to) || (other.from == peer.to && other.to == peer.from))
      return Error{path + ".between names the accelerators of peers[" + std::to_string(i) + "]"};
  }
  if (peer.seconds.empty() && !problem.base.values.empty()) return Error{path + ".seconds must be one number a value"};
  return verify_list(peer.seconds, problem.base.values.size(), path + ".seconds", "values", false);
}

/// Checks that no copy on any accelerator costs less than zero after savings, within rounding.
Status verify_savings_on_each(const DeviceProblem& problem) {
  std::vector<double> saved(problem.base.savings.empty() ? 0 : problem.base.nodes.size());
  for (const auto& saving : problem.base.savings) saved[saving.node] += saving.accelerator_seconds;
  for (std::size_t i = 0; i < saved.size(); ++i) {
    for (std::size_t device = 1; device < problem.devices(); ++device) {
      if (saved[i] > problem.seconds(i, device) * (1 + 1e-9))
        return Error{"savings of node " + std::to_string(i) + " add up to more than it costs on " + device_name(DeviceId(device))};
    }
  }
  return {};
}

std::string named(const PlacementProblem& problem, std::size_t node) {
  if (problem.names.empty() || problem.names[node].empty()) return "node " + std::to_string(node);
  return "`" + problem.names[node] + "`";
}

}  // namespace

double DeviceProblem::peer_seconds(std::size_t value, std::size_t from, std::size_t to) const {
  for (const Peer& peer : peers) {
    if ((peer.from.index == from && peer.to.index == to) || (peer.from.index == to && peer.to.index == from)) return peer.seconds[value];
  }
  return kNever;
}

double DeviceProblem::seconds(std::size_t value, DeviceId from, DeviceId to) const {
  if (from == to) return 0;
  if (from == kHost) return from_host_seconds(value, to.index);
  if (to == kHost) return to_host_seconds(value, from.index);
  return peer_seconds(value, from.index, to.index);
}

bool DeviceProblem::equal_accelerators() const {
  const auto same = [&](std::size_t other) {
    if (accelerators[other].memory_bytes != accelerators[0].memory_bytes) return false;
    for (std::size_t i = 0; i < base.nodes.size(); ++i)
      if (seconds(i, other + 1) != seconds(i, 1)) return false;
    for (std::size_t v = 0; v < base.values.size(); ++v) {
      if (from_host_seconds(v, other + 1) != from_host_seconds(v, 1) || to_host_seconds(v, other + 1) != to_host_seconds(v, 1))
        return false;
    }
    return true;
  };
  for (std::size_t i = 1; i < accelerators.size(); ++i)
    if (!same(i)) return false;
  return true;
}

PlacementProblem DeviceProblem::with_one(std::size_t index) const {
  PlacementProblem one = base;
  const Accelerator& accelerator = accelerators[index];
  one.accelerator_memory_bytes = accelerator.memory_bytes;
  for (std::size_t i = 0; i < one.nodes.size(); ++i) {
    const double here = seconds(i, index + 1);
    if (here == kNever) {
      one.nodes[i].pin = PlacementProblem::Pin::host;
      one.nodes[i].keep_accelerator_copy = false;
    } else {
      one.nodes[i].accelerator_seconds = here;
    }
  }
  for (std::size_t v = 0; v < one.values.size(); ++v) {
    one.values[v].host_to_accelerator_seconds = from_host_seconds(v, index + 1);
    one.values[v].accelerator_to_host_seconds = to_host_seconds(v, index + 1);
  }
  return one;
}

std::string device_name(DeviceId device) {
  return device == kHost ? "host" : "accelerator:" + std::to_string(device.index - 1);
}

Status verify(const DeviceProblem& problem) {
  if (Status status = verify(problem.base); !status) return status;
  const std::size_t count = problem.accelerators.size();
  if (count == 0) return Error{"accelerators must hold at least one"};
  if (count >= DeviceSet::kMost)
    return Error{"accelerators holds " + std::to_string(count) + ", but there may be " + std::to_string(DeviceSet::kMost - 1) + " at most"};
  for (std::size_t i = 0; i < count; ++i) {
    const DeviceProblem::Accelerator& accelerator = problem.accelerators[i];
    const std::size_t nodes = problem.base.nodes.size(), values = problem.base.values.size();
    if (Status status = verify_list(accelerator.seconds, nodes, accelerator_path(i, "seconds"), "nodes", true); !status) return status;
    if (Status status = verify_list(accelerator.from_host_seconds, values, accelerator_path(i, "from_host_seconds"), "values", false);
        !status)
      return status;
    if (Status status = verify_list(accelerator.to_host_seconds, values, accelerator_path(i, "to_host_seconds"), "values", false); !status)
      return status;
    const double bytes = accelerator.memory_bytes;
    if (!std::isfinite(bytes) || bytes < 0 || (bytes > 0 && bytes < 1))
      return Error{accelerator_path(i, "memory_bytes") + " must be 0 (no limit) or at least 1"};
  }
  if (Status status = verify_savings_on_each(problem); !status) return status;
  for (std::size_t i = 0; i < problem.peers.size(); ++i)
    if (Status status = verify_peer(problem, i); !status) return status;
  double total = 0, most = 0;
  for (const auto& region : problem.base.regions) most += region.frequency;
  for (std::size_t i = 0; i < problem.base.nodes.size(); ++i) {
    for (std::size_t device = 1; device < problem.devices(); ++device) {
      const double seconds = problem.seconds(i, device);
      if (seconds != DeviceProblem::kNever) total += problem.base.regions[problem.base.nodes[i].region].frequency * seconds;
    }
  }
  for (const auto& accelerator : problem.accelerators) {
    for (const double seconds : accelerator.from_host_seconds) total += most * seconds;
    for (const double seconds : accelerator.to_host_seconds) total += most * seconds;
  }
  if (!(total < 1e300)) return Error{"the costs times the frequencies add up to more than 1e300 seconds"};
  return {};
}

Result<std::vector<DeviceSet>> allowed_devices(const DeviceProblem& problem) {
  using Pin = PlacementProblem::Pin;
  const DeviceSet host = DeviceSet::only(0), all = DeviceSet::first(problem.devices());
  std::vector<DeviceSet> allowed(problem.base.nodes.size());
  const std::vector<std::uint8_t> drives = has_drivers(problem.base) ? drivers_of(problem.base) : std::vector<std::uint8_t>(allowed.size());
  for (std::size_t i = 0; i < allowed.size(); ++i) {
    const PlacementProblem::Node& node = problem.base.nodes[i];
    DeviceSet set;
    for_each_device(all, [&](std::size_t device) {
      if (problem.seconds(i, device) != DeviceProblem::kNever) set = set | DeviceSet::only(device);
    });
    if (node.pin == Pin::host) set = set & host;
    if (node.pin == Pin::accelerator || node.keep_accelerator_copy) set = set.without(host);
    if (drives[i]) set = set & host;  // the host decides control flow, and tells all accelerators
    if (set.empty()) {
      const char* why = drives[i] && !(node.pin == Pin::none && !node.keep_accelerator_copy)
                            ? " drives a region, which only the host can do, but is pinned to an accelerator"
                            : " is pinned to an accelerator, but none has a kernel for it";
      return Error{named(problem.base, i) + why};
    }
    allowed[i] = set;
  }
  return allowed;
}

}  // namespace cleave::planner
