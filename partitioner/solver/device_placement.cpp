// Each workload node becomes a node with one value, each edge a use. Ids are arbitrary and edges may precede nodes, so that edges are
// resolved at the end.
#include "partitioner/solver/device_placement.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "partitioner/solver/json_records.h"

namespace cleave::planner {
namespace {

using Type = JsonScalar::Type;

class WorkloadReader : public JsonRecords {
 public:
  explicit WorkloadReader(std::function<void()> pause)
      : JsonRecords({{"", {"maxSizePerFPGA"}, 0},
                     {"nodes", {"id", "name", "cpuLatency", "fpgaLatency", "supportedOnFpga", "size", "colorClass"}, 0b1101},
                     {"edges", {"sourceId", "destId", "cost"}, 0b111}},
                    false),
        pause_(std::move(pause)) {
    problem_.regions.emplace_back();
  }

  Result<PlacementProblem> finish() {
    for (std::size_t i = 0; i < problem_.nodes.size(); ++i) problem_.values.push_back({static_cast<std::int32_t>(i), 0, 0, 0});
    for (std::size_t i = 0; i < edges_.size(); ++i) {
      const auto source = nodes_.find(edges_[i].source), target = nodes_.find(edges_[i].target);
      const std::string path = "edges[" + std::to_string(i) + "].";
      if (source == nodes_.end()) return Error{path + "sourceId is " + edges_[i].source + ", which is no node"};
      if (target == nodes_.end()) return Error{path + "destId is " + edges_[i].target + ", which is no node"};
      problem_.uses.push_back({source->second, target->second, 0});
      double& cost = problem_.values[source->second].host_to_accelerator_seconds;
      cost = std::max(cost, edges_[i].cost);
      problem_.values[source->second].accelerator_to_host_seconds = cost;
    }
    return std::move(problem_);
  }

 private:
  struct Edge {
    std::string source, target;
    double cost = 0;
  };

  void pause() override {
    if (pause_) pause_();
  }

  void begin_record(std::size_t list) override {
    if (list == 2) {
      edges_.emplace_back();
      return;
    }
    problem_.nodes.emplace_back();
    problem_.names.emplace_back();
  }

  std::string set(std::size_t list, std::size_t field, const JsonScalar& scalar) override {
    if (list == 0) return amount(scalar, problem_.accelerator_memory_bytes);
    return list == 1 ? set_node(field, scalar) : set_edge(field, scalar);
  }

  static std::string amount(const JsonScalar& scalar, double& out) {
    if (!scalar.is_number() || !std::isfinite(scalar.number) || scalar.number < 0) return "must be a finite number that is not negative";
    out = scalar.number;
    return {};
  }

  static std::string identity(const JsonScalar& scalar, std::string& out) {
    if (scalar.type != Type::integer && scalar.type != Type::text) return "must be a whole number or a text";
    out = scalar.type == Type::text ? "\"" + scalar.text + "\"" : std::to_string(scalar.integer);
    return {};
  }

  std::string set_node(std::size_t field, const JsonScalar& scalar) {
    PlacementProblem::Node& node = problem_.nodes.back();
    const auto index = static_cast<std::int32_t>(problem_.nodes.size()) - 1;
    std::string id;
    switch (field) {
      case 0:
        if (std::string wrong = identity(scalar, id); !wrong.empty()) return wrong;
        return nodes_.try_emplace(id, index).second ? "" : "is " + id + ", as of another node";
      case 1: problem_.names.back() = scalar.text; return {};
      case 2: return amount(scalar, node.host_seconds);
      case 3: return amount(scalar, node.accelerator_seconds);
      case 4:
        if (scalar.type != Type::boolean && !scalar.is_number()) return "must be true, false or a number";
        if (scalar.type == Type::boolean ? scalar.integer == 0 : scalar.number == 0) node.pin = PlacementProblem::Pin::host;
        return {};
      case 5: return amount(scalar, node.accelerator_bytes);
      default:
        if (scalar.type == Type::null) return {};
        if (std::string wrong = identity(scalar, id); !wrong.empty()) return wrong;
        node.group = classes_.try_emplace(id, static_cast<std::int32_t>(classes_.size())).first->second;
        return {};
    }
  }

  std::string set_edge(std::size_t field, const JsonScalar& scalar) {
    if (field == 2) return amount(scalar, edges_.back().cost);
    return identity(scalar, field == 0 ? edges_.back().source : edges_.back().target);
  }

  std::function<void()> pause_;
  PlacementProblem problem_;
  std::vector<Edge> edges_;
  std::unordered_map<std::string, std::int32_t> nodes_, classes_;
};

}  // namespace

Result<PlacementProblem> read_device_placement(std::istream& in, const std::function<void()>& pause) {
  WorkloadReader reader(pause);
  if (Status status = reader.read(in); !status) return status.error();
  return reader.finish();
}

}  // namespace cleave::planner
