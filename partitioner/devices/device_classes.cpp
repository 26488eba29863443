// Groups are contracted as for one accelerator; the devices of a class are those that all of its nodes may use.
#include "partitioner/devices/device_classes.h"

#include <algorithm>

#include "graph/base/units.h"
#include "partitioner/solver/contract.h"

namespace cleave::planner {
namespace {

std::string first_node(const DeviceProblem& problem, const DeviceClasses& classes, std::size_t c) {
  const auto node = static_cast<std::size_t>(classes.nodes[c].front());
  const auto& names = problem.base.names;
  return names.empty() || names[node].empty() ? "node " + std::to_string(node) : "`" + names[node] + "`";
}

}  // namespace

Result<DeviceClasses> device_classes(const DeviceProblem& problem) {
  const auto allowed = allowed_devices(problem);
  if (!allowed) return allowed.error();
  Result<Contraction> contraction = contract(problem.base);
  if (!contraction) return contraction.error();
  DeviceClasses classes;
  classes.class_of = std::move(contraction->class_of);
  const std::size_t count = contraction->classes.size();
  classes.nodes.resize(count);
  classes.allowed.assign(count, DeviceSet::first(problem.devices()));
  classes.replicable.assign(count, 1);
  classes.bytes.assign(count, 0);
  for (std::size_t i = 0; i < classes.class_of.size(); ++i) {
    const auto c = static_cast<std::size_t>(classes.class_of[i]);
    classes.nodes[c].push_back(static_cast<std::int32_t>(i));
    classes.allowed[c] = classes.allowed[c] & (*allowed)[i];
    classes.replicable[c] &= static_cast<std::uint8_t>(problem.base.nodes[i].replicable);
    classes.bytes[c] += problem.base.nodes[i].accelerator_bytes;
  }
  for (std::size_t c = 0; c < count; ++c)
    if (classes.allowed[c].empty()) return Error{"no device can run all nodes of the group of " + first_node(problem, classes, c)};
  classes.values.resize(count);
  for (std::size_t v = 0; v < problem.base.values.size(); ++v)
    classes.values[classes.class_of[problem.base.values[v].node]].push_back(static_cast<std::int32_t>(v));
  for (const auto& use : problem.base.uses) classes.values[classes.class_of[use.node]].push_back(use.value);
  for (std::vector<std::int32_t>& values : classes.values) {
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
  }
  return classes;
}

std::vector<DeviceSet> DeviceClasses::per_node(const std::vector<DeviceSet>& on) const {
  std::vector<DeviceSet> result(class_of.size());
  for (std::size_t i = 0; i < result.size(); ++i) result[i] = on[class_of[i]];
  return result;
}

std::vector<double> bytes_on_devices(const DeviceProblem& problem, const DeviceClasses& classes, const std::vector<DeviceSet>& on) {
  std::vector<double> bytes(problem.devices());
  for (std::size_t c = 0; c < on.size(); ++c)
    for_each_device(on[c], [&](std::size_t device) { bytes[device] += device == 0 ? 0 : classes.bytes[c]; });
  return bytes;
}

bool fits(const DeviceProblem& problem, const DeviceClasses& classes, const std::vector<DeviceSet>& on) {
  const std::vector<double> bytes = bytes_on_devices(problem, classes, on);
  for (std::size_t device = 1; device < bytes.size(); ++device) {
    const double room = problem.accelerators[device - 1].memory_bytes;
    if (room > 0 && bytes[device] > room) return false;
  }
  return true;
}

Status check_memory(const DeviceProblem& problem, const DeviceClasses& classes) {
  double all = 0, needed = 0;
  for (const auto& accelerator : problem.accelerators)
    all += accelerator.memory_bytes > 0 ? accelerator.memory_bytes : DeviceProblem::kNever;
  for (std::size_t c = 0; c < classes.size(); ++c) {
    if (classes.allowed[c].has(std::size_t{0})) continue;
    needed += classes.bytes[c];
    double most = 0;
    for_each_device(classes.allowed[c], [&](std::size_t device) {
      const double bytes = problem.accelerators[device - 1].memory_bytes;
      most = std::max(most, bytes > 0 ? bytes : DeviceProblem::kNever);
    });
    if (classes.bytes[c] > most)
      return Error{first_node(problem, classes, c) + " must be on an accelerator and needs " + format_bytes(classes.bytes[c]) +
                   ", but none that can run it has more than " + format_bytes(most)};
  }
  if (needed <= all) return {};
  return Error{"what must be on accelerators needs " + format_bytes(needed) + ", but their memories have " + format_bytes(all) +
               " together"};
}

}  // namespace cleave::planner
