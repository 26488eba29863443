// See devices_json.h. Lists by item become lists by accelerator; an item without a list has the numbers of one accelerator everywhere.
#include "partitioner/devices/devices_json.h"

#include <charconv>

namespace cleave::planner {
namespace {

using Each = AcceleratorFields::Each;

void append_number(std::string& out, double number) {
  char buffer[32];
  const auto [end, code] = std::to_chars(buffer, buffer + sizeof buffer, number);
  out.append(buffer, end);
}

const char* direction_name(const RoutedTransfer& transfer) {
  if (transfer.from == kHost) return "host_to_accelerator";
  return transfer.to == kHost ? "accelerator_to_host" : "accelerator_to_accelerator";
}

/// `otherwise(item)` for items without a list.
template <class Otherwise>
Status spread(const std::vector<Each>& lists, std::size_t items, DeviceProblem& problem,
              std::vector<double> DeviceProblem::Accelerator::*target, const char* list, const char* field, Otherwise otherwise) {
  if (lists.empty()) return {};
  for (DeviceProblem::Accelerator& accelerator : problem.accelerators) {
    (accelerator.*target).resize(items);
    for (std::size_t i = 0; i < items; ++i) (accelerator.*target)[i] = otherwise(i);
  }
  for (const Each& each : lists) {
    if (each.seconds.size() != problem.accelerators.size()) {
      return Error{std::string(list) + "[" + std::to_string(each.item) + "]." + field + " has " + std::to_string(each.seconds.size()) +
                   " numbers, but there are " + std::to_string(problem.accelerators.size()) + " accelerators"};
    }
    for (std::size_t a = 0; a < each.seconds.size(); ++a)
      (problem.accelerators[a].*target)[static_cast<std::size_t>(each.item)] = each.seconds[a];
  }
  return {};
}

}  // namespace

Result<DeviceProblem> device_problem(LoadedProblem loaded, std::size_t count) {
  AcceleratorFields& fields = loaded.accelerators;
  DeviceProblem problem;
  problem.base = std::move(loaded.problem);
  std::size_t listed = fields.memory_bytes.size();
  for (const auto* lists : {&fields.node_seconds, &fields.from_host_seconds, &fields.to_host_seconds})
    if (listed == 0 && count == 0 && !lists->empty()) listed = lists->front().seconds.size();
  if (count == 0) count = listed == 0 ? 1 : listed;
  if (listed != 0 && listed != count) {
    return Error{"the problem lists " + std::to_string(listed) + (listed == 1 ? " accelerator" : " accelerators") + ", but " +
                 std::to_string(count) + " are asked for"};
  }
  problem.accelerators.resize(count);
  for (std::size_t a = 0; a < count; ++a) {
    const double own = fields.memory_bytes.empty() ? 0 : fields.memory_bytes[a];
    problem.accelerators[a].memory_bytes = own > 0 ? own : problem.base.accelerator_memory_bytes;
  }
  const PlacementProblem& base = problem.base;
  using Accelerator = DeviceProblem::Accelerator;
  if (Status status = spread(fields.node_seconds, base.nodes.size(), problem, &Accelerator::seconds, "nodes", "each_accelerator_seconds",
                             [&](std::size_t i) { return base.nodes[i].accelerator_seconds; });
      !status)
    return status.error();
  if (Status status = spread(fields.from_host_seconds, base.values.size(), problem, &Accelerator::from_host_seconds, "values",
                             "host_to_each_accelerator_seconds", [&](std::size_t v) { return base.values[v].host_to_accelerator_seconds; });
      !status)
    return status.error();
  if (Status status = spread(fields.to_host_seconds, base.values.size(), problem, &Accelerator::to_host_seconds, "values",
                             "each_accelerator_to_host_seconds", [&](std::size_t v) { return base.values[v].accelerator_to_host_seconds; });
      !status)
    return status.error();
  for (std::size_t i = 0; i < fields.peers.size(); ++i) {
    const AcceleratorFields::Peer& peer = fields.peers[i];
    if (peer.between.size() != 2) return Error{"peers[" + std::to_string(i) + "].between must name two accelerators"};
    problem.peers.push_back(
        {DeviceId(static_cast<std::size_t>(peer.between[0]) + 1), DeviceId(static_cast<std::size_t>(peer.between[1]) + 1), peer.seconds});
  }
  if (Status status = verify(problem); !status) return status.error();
  return problem;
}

std::string placed_devices_json(const std::vector<std::int32_t>& region_in_file, const PlacedDevices& placement) {
  std::string out = "{\"objective_seconds\": ";
  append_number(out, placement.objective_seconds);
  out += ", \"bound_seconds\": ";
  append_number(out, placement.bound_seconds);
  out += ", \"gap\": ";
  append_number(out, placement.gap);
  out += ",\n \"nodes\": [";
  for (std::size_t i = 0; i < placement.on.size(); ++i) {
    out += i == 0 ? "\n  {\"on\": [" : ",\n  {\"on\": [";
    bool first = true;
    for_each_device(placement.on[i], [&](std::size_t device) {
      out += (first ? "\"" : ", \"") + device_name(DeviceId(device)) + "\"";
      first = false;
    });
    out += "]}";
  }
  out += "],\n \"transfers\": [";
  for (std::size_t i = 0; i < placement.transfers.size(); ++i) {
    const RoutedTransfer& transfer = placement.transfers[i];
    out += (i == 0 ? "\n  {\"value\": " : ",\n  {\"value\": ") + std::to_string(transfer.value) + ", \"direction\": \"" +
           direction_name(transfer) + "\", \"from\": \"" + device_name(transfer.from) + "\", \"to\": \"" + device_name(transfer.to) +
           "\", \"region\": " + std::to_string(region_in_file[static_cast<std::size_t>(transfer.region)]) + "}";
  }
  out += "],\n \"solve_seconds\": ";
  append_number(out, placement.solve_seconds);
  return out + "}";
}

}  // namespace cleave::planner
