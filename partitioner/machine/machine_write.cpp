// to_yaml(): writes a machine file that Machine::parse reads back as the same numbers.
#include <array>
#include <charconv>
#include <utility>

#include "partitioner/machine/machine.h"

namespace cleave {
namespace {

/// The shortest decimal that reads back as the same double.
std::string number(double value) {
  std::array<char, 40> text;
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
}

/// A double-quoted string, since names come from drivers and may have any characters.
std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return result + '"';
}

std::string list(const PointTable& points) {
  std::string text = "[";
  for (const auto& [size, seconds] : points) text += (text.size() > 1 ? ", [" : "[") + number(size) + ", " + number(seconds) + "]";
  return text + "]";
}

std::string efficiency(const DeviceRates& device, const std::string& indent) {
  std::string text;
  for (int i = 0; i < kCostClassCount; ++i) {
    const auto [flops, bytes] = device.efficiency[static_cast<std::size_t>(i)];
    std::string parts;
    if (flops != 1) parts = "flops: " + number(flops);
    if (bytes != 1) parts += (parts.empty() ? "bytes: " : ", bytes: ") + number(bytes);
    if (parts.empty()) continue;
    if (text.empty()) text = indent + "efficiency:\n";
    text += indent + "  " + std::string(to_string(static_cast<CostClass>(i))) + ": {" + parts + "}\n";
  }
  return text;
}

std::string rates(const DeviceRates& device, const std::string& indent) {
  std::string text = indent + "flops: {";
  bool first = true;
  for (int i = 0; i < kDTypeCount; ++i) {
    const double rate = device.flops[static_cast<std::size_t>(i)];
    if (rate <= 0) continue;
    text += (first ? "" : ", ") + std::string(to_string(static_cast<DType>(i))) + ": " + number(rate);
    first = false;
  }
  if (device.tf32_flops > 0) text += ", " + std::string(to_string(Precision::tf32)) + ": " + number(device.tf32_flops);
  text += "}\n" + indent + "bytes_per_second: " + number(device.bytes_per_second) + "\n";
  text += indent + "overhead_seconds: " + number(device.overhead_seconds) + "\n";
  if (device.run_seconds > 0) text += indent + "run_seconds: " + number(device.run_seconds) + "\n";
  if (device.trip_seconds > 0) text += indent + "trip_seconds: " + number(device.trip_seconds) + "\n";
  text += indent + "memory_bytes: " + number(device.memory_bytes) + "\n";
  if (device.threads > 0) text += indent + "threads: " + std::to_string(device.threads) + "\n";
  text += efficiency(device, indent);
  if (device.points.empty()) return text;
  text += indent + "points:\n";
  for (const auto& [key, points] : device.points) text += indent + "  " + key + ": " + list(points) + "\n";
  return text;
}

/// The links between accelerators; one entry if all pairs have the same.
std::string peers(const Machine& machine) {
  if (machine.peers.empty()) return {};
  const auto line = [](const LinkDirection& link) {
    std::string text = "latency_seconds: " + number(link.latency_seconds) + ", bytes_per_second: " + number(link.bytes_per_second);
    if (!link.points.empty()) text += ", points: " + list(link.points);
    return text;
  };
  const std::size_t count = machine.accelerators.size();
  bool equal = machine.peers.size() == count * (count - 1) / 2;
  for (const Machine::Peer& peer : machine.peers) equal = equal && line(peer.link) == line(machine.peers[0].link);
  if (equal) return "peers:\n  - {between: all, " + line(machine.peers[0].link) + "}\n";
  std::string text = "peers:\n";
  for (const Machine::Peer& peer : machine.peers) {
    text += "  - {between: [" + std::to_string(peer.first.index - 1) + ", " + std::to_string(peer.second.index - 1) + "], " +
            line(peer.link) + "}\n";
  }
  return text;
}

std::string direction(const char* name, const LinkDirection& link, const std::string& indent) {
  std::string text = indent + name + ":\n";
  text += indent + "  latency_seconds: " + number(link.latency_seconds) + "\n";
  text += indent + "  bytes_per_second: " + number(link.bytes_per_second) + "\n";
  if (!link.points.empty()) text += indent + "  points: " + list(link.points) + "\n";
  if (!link.pageable_points.empty()) text += indent + "  pageable_points: " + list(link.pageable_points) + "\n";
  return text;
}

std::string accelerator(const DeviceRates& device) {
  std::string text = "  - name: " + quoted(device.name) + "\n" + rates(device, "    ");
  text += "    control_flow: " + device.control_flow + "\n    link:\n";
  text += direction("host_to_accelerator", device.host_to_accelerator, "      ");
  return text + direction("accelerator_to_host", device.accelerator_to_host, "      ");
}

}  // namespace

std::string to_yaml(const Machine& machine) {
  std::string text = "machine: " + quoted(machine.name) + "\nprovenance: " + machine.provenance + "\nhost:\n";
  text += "  name: " + quoted(machine.host.name) + "\n" + rates(machine.host, "  ");
  text += "accelerators:\n";
  std::string entry;
  std::size_t equal = 0;  // consecutive accelerators with one text
  const auto end_entry = [&] {
    text += entry;
    if (equal > 1) text += "    count: " + std::to_string(equal) + "\n";
  };
  for (const DeviceRates& device : machine.accelerators) {
    std::string next = accelerator(device);
    if (next != entry) {
      end_entry();
      entry = std::move(next);
      equal = 0;
    }
    ++equal;
  }
  end_entry();
  return text + peers(machine);
}

}  // namespace cleave
