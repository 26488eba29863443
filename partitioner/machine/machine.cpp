// Rates and tables, and where a machine comes from. The file format is read in machine_file.cpp.
#include "partitioner/machine/machine.h"

#include <algorithm>
#include <cmath>

#include "graph/base/diagnostic.h"
#include "graph/base/exceptions.h"
#include "graph/base/file.h"
#include "graph/base/spelling.h"
#include "partitioner/machine/shipped_machines.h"

namespace cleave {

double seconds_at(const PointTable& points, double size) {
  CLEAVE_CHECK(!points.empty(), "an empty table has no times");
  if (size <= 0) return points.front().second;
  if (points.size() == 1) return points[0].second * size / points[0].first;
  const auto above =
      std::lower_bound(points.begin(), points.end(), size, [](const auto& point, double wanted) { return point.first < wanted; });
  const auto index = std::clamp<std::ptrdiff_t>(above - points.begin(), 1, static_cast<std::ptrdiff_t>(points.size()) - 1);
  const auto& [low_size, low_seconds] = points[index - 1];
  const auto& [high_size, high_seconds] = points[index];
  const double seconds = low_seconds + (high_seconds - low_seconds) * (size - low_size) / (high_size - low_size);
  // Beyond the ends: for a smaller size, at least what a constant rate gives; for a larger one, at least the last point's seconds.
  if (size < low_size) return std::clamp(seconds, low_seconds * (size / low_size), low_seconds);
  return size > high_size ? std::max(seconds, high_seconds) : seconds;
}

double LinkDirection::seconds(double bytes) const {
  return points.empty() ? latency_seconds + bytes / bytes_per_second : seconds_at(points, bytes);
}

double DeviceRates::product_flops(Precision precision) const {
  if (precision == Precision::tf32 && tf32_flops > 0) return tf32_flops;
  return flops[static_cast<std::size_t>(precision == Precision::bf16 ? DType::bf16 : DType::f32)];
}

namespace {

const Machine::Peer* find_peer(const Machine& machine, DeviceId a, DeviceId b) {
  const auto [first, second] = std::minmax(a.index, b.index);
  for (const Machine::Peer& peer : machine.peers)
    if (peer.first.index == first && peer.second.index == second) return &peer;
  return nullptr;
}

}  // namespace

const LinkDirection& Machine::link(DeviceId from, DeviceId to) const {
  if (from != kHost && to != kHost) {
    const Peer* peer = find_peer(*this, from, to);
    CLEAVE_CHECK(peer != nullptr, "no link joins these accelerators");
    return peer->link;
  }
  const std::size_t far = (from == kHost ? to : from).index - std::size_t{1};
  CLEAVE_CHECK((from == kHost) != (to == kHost) && far < accelerators.size(), "no link joins these devices");
  return from == kHost ? accelerators[far].host_to_accelerator : accelerators[far].accelerator_to_host;
}

bool Machine::has_peer(DeviceId a, DeviceId b) const {
  return find_peer(*this, a, b) != nullptr;
}

std::vector<std::string> Machine::shipped_names() {
  std::vector<std::string> names;
  for (const EmbeddedText& machine : shipped_machines()) names.emplace_back(machine.name);
  return names;
}

Result<Machine> Machine::shipped(std::string_view name) {
  return detail::guard_memory([&]() -> Result<Machine> {
    for (const EmbeddedText& machine : shipped_machines()) {
      if (machine.name == name) return parse(machine.text, std::string(name) + ".yaml");
    }
    return Error{"there is no machine `" + std::string(name) + "`" + did_you_mean(name, shipped_names()), {}, ErrorKind::usage};
  });
}

Result<Machine> Machine::find(const std::string& name_or_path) {
  return detail::guard_memory([&]() -> Result<Machine> {
    const std::vector<std::string> names = shipped_names();
    if (std::find(names.begin(), names.end(), name_or_path) != names.end()) return shipped(name_or_path);
    const Result<std::string> text = read_file(name_or_path);
    if (text) return parse(*text, name_or_path);
    if (text.error().kind == ErrorKind::machine) return text.error();
    const std::string named = "cannot read `" + name_or_path + "`: ";  // so that the message does not repeat it
    const std::string& whole = text.error().message;
    const std::string why = whole.starts_with(named) ? whole.substr(named.size()) : whole;
    return Error{
        "`" + name_or_path + "` is neither a shipped machine nor a file that can be read: " + why + did_you_mean(name_or_path, names),
        {},
        ErrorKind::usage};
  });
}

}  // namespace cleave
