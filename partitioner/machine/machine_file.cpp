// Reads a machine file (YAML; format: docs/machine-files.md). The first mistake is reported with its line and column; unknown keys are
// mistakes.
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "graph/base/diagnostic.h"
#include "graph/base/exceptions.h"
#include "graph/base/spelling.h"
#include "graph/base/units.h"
#include "partitioner/machine/machine.h"
#include "partitioner/machine/machine_keys.h"
#include "partitioner/machine/point_key.h"

namespace cleave {
namespace {

constexpr double kSmallest = 1e-30, kLargest = 1e30;  ///< limits on rates, sizes and times, so that products and sums stay finite

/// Walks the document; after the first mistake every call does nothing.
class Reader {
 public:
  explicit Reader(const std::string& file) : file_(std::make_shared<const std::string>(file)) {}

  Result<Machine> read(std::string_view text) {
    Machine machine;
    try {
      read_machine(YAML::Load(std::string(text)), machine);
    } catch (const YAML::Exception& exception) {
      fail(exception.mark, exception.msg);
    }
    if (error_) return *error_;
    return machine;
  }

 private:
  using Keys = std::vector<std::string>;

  void fail(const YAML::Mark& mark, const std::string& message) {
    if (error_) return;
    error_ = Error{message, {file_, 1, 1, nullptr}};
    if (mark.is_null()) return;
    error_->location.line = mark.line + 1;
    error_->location.column = mark.column + 1;
  }

  /// Checks that a node is a map with known keys only, none twice, and all required ones.
  bool map(const YAML::Node& node, const std::string& what, const planner::MachineKeys& keys) {
    const Keys& known = keys.known;
    if (error_) return false;
    if (!node.IsMap()) {
      fail(node.Mark(), what + " must be a map");
      return false;
    }
    Keys seen;
    for (const auto& entry : node) {
      const std::string key = entry.first.IsScalar() ? entry.first.Scalar() : std::string();
      if (std::find(known.begin(), known.end(), key) == known.end()) {
        fail(entry.first.Mark(), "unknown key `" + key + "` in " + what + did_you_mean(key, known));
        return false;
      }
      if (std::find(seen.begin(), seen.end(), key) != seen.end()) fail(entry.first.Mark(), "`" + key + "` is given twice");
      seen.push_back(key);
    }
    for (const std::string& key : keys.required) {
      if (std::find(seen.begin(), seen.end(), key) == seen.end()) fail(node.Mark(), what + " lacks `" + key + "`");
    }
    return !error_;
  }

  std::string text(const YAML::Node& node, const std::string& what) {
    if (!error_ && (!node.IsScalar() || node.Scalar().empty())) fail(node.Mark(), what + " must be a text");
    return error_ ? std::string() : node.Scalar();
  }

  std::string one_of(const YAML::Node& node, const std::string& what, const Keys& choices) {
    const std::string word = text(node, what);
    if (error_ || std::find(choices.begin(), choices.end(), word) != choices.end()) return word;
    std::string message = what + " must be ";
    for (std::size_t i = 0; i < choices.size(); ++i)
      message += (i == 0 ? "`" : i + 1 == choices.size() ? " or `" : ", `") + choices[i] + "`";
    fail(node.Mark(), message + ", not `" + word + "`");
    return word;
  }

  /// Reads a finite number, positive or also zero, optionally followed by a unit of bytes.
  double number(const YAML::Node& node, const std::string& what, bool may_be_zero = false, bool bytes = false) {
    if (error_) return 1;
    const std::string word = node.IsScalar() ? node.Scalar() : std::string();
    const auto split = split_unit(word);
    const auto unit = split ? byte_unit(split->unit) : std::nullopt;
    if (split && bytes && !unit) {
      fail(node.Mark(), "`" + std::string(split->unit) + "` is no unit of bytes" + suggest_byte_unit(split->unit));
      return 1;
    }
    const double value = unit ? split->number * *unit : 0;
    if (unit && (bytes || split->digits == word) && std::isfinite(value) && (value > 0 || (may_be_zero && value == 0))) {
      if (value != 0 && (value < kSmallest || value > kLargest))
        fail(node.Mark(), what + " must lie between 1e-30 and 1e30, not `" + word + "`");
      return value;
    }
    fail(node.Mark(), what + " must be a " + (may_be_zero ? "number that is not negative" : "positive number") +
                          (bytes ? ", as in `16GiB`" : "") + (word.empty() ? "" : ", not `" + word + "`"));
    return 1;
  }

  /// Reads [[size, seconds], ...] with increasing sizes.
  PointTable points(const YAML::Node& node, const std::string& what) {
    PointTable table;
    if (error_) return table;
    if (!node.IsSequence() || node.size() == 0) fail(node.Mark(), what + " must be a list of [size, seconds]");
    for (const auto& point : node) {
      if (error_) return table;
      if (!point.IsSequence() || point.size() != 2) {
        fail(point.Mark(), what + " must hold pairs [size, seconds]");
        return table;
      }
      table.emplace_back(number(point[0], "a size"), number(point[1], "a time in seconds"));
      if (table.size() > 1 && table.back().first <= table[table.size() - 2].first)
        fail(point.Mark(), "the sizes of " + what + " must grow");
    }
    return table;
  }

  void read_machine(const YAML::Node& root, Machine& machine) {
    if (!map(root, "the machine file", planner::machine_file_keys())) return;
    machine.name = text(root["machine"], "`machine`");
    machine.provenance = one_of(root["provenance"], "`provenance`", {"measured", "datasheet", "assumed"});
    read_host(root["host"], machine.host);
    if (root["accelerator"] && root["accelerators"]) fail(root.Mark(), "`accelerator` and `accelerators` are two names for one key");
    const YAML::Node list = root["accelerators"] ? root["accelerators"] : root["accelerator"];
    if (!list) return fail(root.Mark(), "the machine file lacks `accelerators`");
    if (list.IsSequence() && list.size() == 0) return fail(list.Mark(), "`accelerators` is empty");
    if (list.IsSequence()) {
      for (const auto& node : list) read_accelerators(node, root["link"], machine);
    } else {
      read_accelerators(list, root["link"], machine);
    }
    if (root["peers"]) read_peers(root["peers"], machine);
  }

  /// Reads one entry of the list, which stands for `count` equal accelerators.
  void read_accelerators(const YAML::Node& node, const YAML::Node& outer_link, Machine& machine) {
    if (error_) return;
    DeviceRates accelerator;
    read_accelerator(node, outer_link, accelerator);
    if (error_) return;
    const std::size_t count = node["count"] ? whole_number(node["count"], "`count`", Machine::kMostAccelerators) : 1;
    if (machine.accelerators.size() + count > Machine::kMostAccelerators)
      fail((node["count"] ? node["count"] : node).Mark(), "a machine has at most " + std::to_string(Machine::kMostAccelerators) +
                                                              " accelerators, but this makes it " +
                                                              std::to_string(machine.accelerators.size() + count));
    if (!error_) machine.accelerators.insert(machine.accelerators.end(), count, accelerator);
  }

  void read_peers(const YAML::Node& list, Machine& machine) {
    if (error_) return;
    if (!list.IsSequence()) return fail(list.Mark(), "`peers` must be a list");
    const std::size_t count = machine.accelerators.size();
    std::optional<LinkDirection> all;
    for (const auto& node : list) {
      if (!map(node, "a peer", planner::peer_keys())) return;
      Machine::Peer peer;
      const YAML::Node between = node["between"];
      const bool every = between.IsScalar() && between.Scalar() == "all";
      if (!every && (!between.IsSequence() || between.size() != 2))
        return fail(between.Mark(), "`between` must be two accelerators, as in `[0, 1]`, or `all`");
      if (!every) {
        const std::size_t a = accelerator_number(between[0], count), b = accelerator_number(between[1], count);
        if (error_) return;
        if (a == b) return fail(between.Mark(), "`between` must name two accelerators, not " + std::to_string(a) + " twice");
        peer.first = DeviceId(std::min(a, b) + 1);
        peer.second = DeviceId(std::max(a, b) + 1);
        if (machine.has_peer(peer.first, peer.second)) return fail(between.Mark(), "the link between these accelerators is given twice");
      } else if (all) {
        return fail(between.Mark(), "`between: all` is given twice");
      }
      read_line(node, peer.link);
      if (error_) return;
      if (every) {
        all = peer.link;
      } else {
        machine.peers.push_back(std::move(peer));
      }
    }
    if (all) link_others(*all, machine);
    std::sort(machine.peers.begin(), machine.peers.end(), [](const Machine::Peer& a, const Machine::Peer& b) {
      return a.first == b.first ? a.second.index < b.second.index : a.first.index < b.first.index;
    });
  }

  /// Joins the pairs of accelerators that have no link.
  static void link_others(const LinkDirection& link, Machine& machine) {
    std::vector<Machine::Peer> others;
    for (std::size_t a = 1; a <= machine.accelerators.size(); ++a) {
      for (std::size_t b = a + 1; b <= machine.accelerators.size(); ++b)
        if (!machine.has_peer(DeviceId(a), DeviceId(b))) others.push_back({DeviceId(a), DeviceId(b), link});
    }
    machine.peers.insert(machine.peers.end(), others.begin(), others.end());
  }

  std::size_t accelerator_number(const YAML::Node& node, std::size_t count) {
    const double value = number(node, "an accelerator of `between`", true);
    if (error_) return 0;
    if (value == std::floor(value) && value < static_cast<double>(count)) return static_cast<std::size_t>(value);
    fail(node.Mark(), "there is no accelerator `" + node.Scalar() + "`; " +
                          (count == 1 ? "the machine has one" : "they are 0 to " + std::to_string(count - 1)));
    return 0;
  }

  /// Reads an integer from 1 to `most`.
  std::size_t whole_number(const YAML::Node& node, const std::string& what, std::size_t most) {
    const double value = number(node, what);
    if (!error_ && (value != std::floor(value) || value > static_cast<double>(most)))
      fail(node.Mark(), what + " must be a whole number, at most " + std::to_string(most));
    return error_ ? 1 : static_cast<std::size_t>(value);
  }

  void read_host(const YAML::Node& node, DeviceRates& rates) {
    if (!map(node, "`host`", planner::host_keys())) return;
    rates.name = node["name"] ? text(node["name"], "`name`") : "host";
    read_rates(node, rates, planner::flops_keys());
  }

  void read_accelerator(const YAML::Node& node, const YAML::Node& outer_link, DeviceRates& rates) {
    if (!map(node, "an accelerator", planner::accelerator_keys())) return;
    rates.name = node["name"] ? text(node["name"], "`name`") : "accelerator";
    if (node["control_flow"]) rates.control_flow = one_of(node["control_flow"], "`control_flow`", {"none", "device_loops"});
    read_rates(node, rates, planner::accelerator_flops_keys());
    const YAML::Node link = node["link"] ? node["link"] : outer_link;
    if (!link) return fail(node.Mark(), "an accelerator lacks `link`");
    if (!map(link, "`link`", planner::link_keys())) return;
    read_direction(link["host_to_accelerator"], "`host_to_accelerator`", rates.host_to_accelerator);
    read_direction(link["accelerator_to_host"], "`accelerator_to_host`", rates.accelerator_to_host);
  }

  void read_direction(const YAML::Node& node, const std::string& what, LinkDirection& direction) {
    if (!map(node, what, planner::link_direction_keys())) return;
    read_line(node, direction);
    if (node["pageable_points"]) direction.pageable_points = points(node["pageable_points"], "`pageable_points`");
  }

  void read_line(const YAML::Node& node, LinkDirection& direction) {
    direction.latency_seconds = number(node["latency_seconds"], "`latency_seconds`", true);
    direction.bytes_per_second = number(node["bytes_per_second"], "`bytes_per_second`");
    if (node["points"]) direction.points = points(node["points"], "`points`");
  }

  void read_rates(const YAML::Node& node, DeviceRates& rates, const planner::MachineKeys& flops) {
    read_flops(node["flops"], rates, flops);
    rates.bytes_per_second = number(node["bytes_per_second"], "`bytes_per_second`");
    if (node["overhead_seconds"]) rates.overhead_seconds = number(node["overhead_seconds"], "`overhead_seconds`", true);
    if (node["run_seconds"]) rates.run_seconds = number(node["run_seconds"], "`run_seconds`", true);
    if (node["trip_seconds"]) rates.trip_seconds = number(node["trip_seconds"], "`trip_seconds`", true);
    if (node["memory_bytes"]) rates.memory_bytes = number(node["memory_bytes"], "`memory_bytes`", true, true);
    if (node["threads"]) read_threads(node["threads"], rates);
    if (node["efficiency"]) read_efficiency(node["efficiency"], rates);
    if (!node["points"] || error_) return;
    if (!node["points"].IsMap()) return fail(node["points"].Mark(), "`points` must be a map from `op/type` to a list of [size, seconds]");
    for (const auto& entry : node["points"]) {
      const std::string key = entry.first.IsScalar() ? entry.first.Scalar() : std::string();
      const std::optional<planner::PointKey> parsed = planner::parse_point_key(key);
      const bool rounded = parsed && !parsed->type && &flops != &planner::accelerator_flops_keys();
      if (!parsed || rounded) return fail(entry.first.Mark(), planner::what_is_wrong_with_key(key));
      if (rates.points.contains(key)) return fail(entry.first.Mark(), "`" + key + "` is given twice");
      rates.points[key] = points(entry.second, "`" + key + "`");
    }
  }

  void read_threads(const YAML::Node& node, DeviceRates& rates) {
    const std::size_t threads = whole_number(node, "`threads`", 65536);
    if (!error_) rates.threads = static_cast<int>(threads);
  }

  void read_efficiency(const YAML::Node& node, DeviceRates& rates) {
    if (!map(node, "`efficiency`", planner::efficiency_keys())) return;
    for (const auto& entry : node) {
      const std::string name = entry.first.Scalar();
      if (!map(entry.second, "`" + name + "`", planner::class_efficiency_keys())) return;
      Efficiency& part = rates.efficiency[static_cast<std::size_t>(*parse_cost_class(name))];
      if (entry.second["flops"]) part.flops = number(entry.second["flops"], "`flops`");
      if (entry.second["bytes"]) part.bytes = number(entry.second["bytes"], "`bytes`");
    }
  }

  void read_flops(const YAML::Node& node, DeviceRates& rates, const planner::MachineKeys& keys) {
    if (!map(node, "`flops`", keys)) return;
    for (const auto& entry : node) {
      const auto type = parse_dtype(entry.first.Scalar());
      (type ? rates.flops[static_cast<std::size_t>(*type)] : rates.tf32_flops) = number(entry.second, "`" + entry.first.Scalar() + "`");
    }
    complete_flops(rates);
  }

  /// Gives each type without a rate the rate of the nearest type that has one.
  static void complete_flops(DeviceRates& rates) {
    constexpr std::pair<DType, DType> kNear[] = {{DType::f16, DType::bf16}, {DType::f16, DType::f32}, {DType::bf16, DType::f16},
                                                 {DType::f64, DType::f32},  {DType::i32, DType::i64}, {DType::i32, DType::f32},
                                                 {DType::i64, DType::i32},  {DType::u8, DType::i32},  {DType::boolean, DType::u8},
                                                 {DType::i8, DType::u8},    {DType::u16, DType::i32}, {DType::i16, DType::u16},
                                                 {DType::u32, DType::i32},  {DType::u64, DType::i64}};
    for (const auto& [type, near] : kNear) {
      double& rate = rates.flops[static_cast<std::size_t>(type)];
      if (rate == 0) rate = rates.flops[static_cast<std::size_t>(near)];
    }
  }

  std::shared_ptr<const std::string> file_;
  std::optional<Error> error_;
};

}  // namespace

Result<Machine> Machine::parse(std::string_view text, const std::string& file) {
  return detail::guard_memory([&]() -> Result<Machine> { return Reader(file).read(text); });
}

}  // namespace cleave
