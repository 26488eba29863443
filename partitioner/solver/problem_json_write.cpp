// Problems and placements as JSON text, numbers with all their digits.
#include <charconv>

#include "graph/base/json_writer.h"
#include "partitioner/solver/problem_json.h"

namespace cleave::planner {
namespace {

void append(std::string& out, double number) {
  char buffer[32];
  const auto [end, code] = std::to_chars(buffer, buffer + sizeof buffer, number);
  out.append(buffer, end);
}

/// Appends `"key": number`, after a comma unless an opening brace precedes.
template <class Number>
void field(std::string& out, const char* key, Number number) {
  out += out.back() == '{' ? "\"" : ", \"";
  out += key;
  out += "\": ";
  if constexpr (std::is_floating_point_v<Number>) {
    append(out, number);
  } else {
    out += std::to_string(number);
  }
}

/// The list `key` with one object an item.
template <class Items, class Write>
void list(std::string& out, const char* key, const Items& items, Write write) {
  out += out == "{" ? "\"" : ",\n \"";
  out += key;
  out += "\": [";
  for (std::size_t i = 0; i < items.size(); ++i) {
    out += i == 0 ? "\n  {" : ",\n  {";
    write(i, items[i]);
    out += '}';
  }
  out += ']';
}

}  // namespace

std::string problem_json(const PlacementProblem& problem) {
  std::string out = "{";
  list(out, "regions", problem.regions, [&](std::size_t i, const PlacementProblem::Region& region) {
    if (i == 0) {
      out += "\"parent\": null";
    } else {
      field(out, "parent", region.parent);
    }
    field(out, "frequency", region.frequency);
    if (region.driver != PlacementProblem::kNoDriver) field(out, "driver", region.driver);
  });
  list(out, "nodes", problem.nodes, [&](std::size_t i, const PlacementProblem::Node& node) {
    field(out, "region", node.region);
    field(out, "host_seconds", node.host_seconds);
    field(out, "accelerator_seconds", node.accelerator_seconds);
    if (!problem.names.empty()) {
      out += ", \"name\": ";
      JsonWriter(out).value(problem.names[i]);
    }
    if (node.pin != PlacementProblem::Pin::none)
      out += node.pin == PlacementProblem::Pin::host ? ", \"pin\": \"host\"" : ", \"pin\": \"accelerator\"";
    out += node.replicable ? ", \"replicable\": true" : ", \"replicable\": false";
    if (node.keep_accelerator_copy) out += ", \"keep_accelerator_copy\": true";
    if (node.group != PlacementProblem::kNoGroup) field(out, "group", node.group);
    if (node.accelerator_bytes > 0) field(out, "accelerator_bytes", node.accelerator_bytes);
  });
  list(out, "values", problem.values, [&](std::size_t, const PlacementProblem::Value& value) {
    field(out, "node", value.node);
    field(out, "region", value.region);
    field(out, "host_to_accelerator_seconds", value.host_to_accelerator_seconds);
    field(out, "accelerator_to_host_seconds", value.accelerator_to_host_seconds);
  });
  list(out, "uses", problem.uses, [&](std::size_t, const PlacementProblem::Use& use) {
    field(out, "value", use.value);
    field(out, "node", use.node);
    field(out, "region", use.region);
  });
  if (!problem.savings.empty()) {
    list(out, "savings", problem.savings, [&](std::size_t, const PlacementProblem::Saving& saving) {
      field(out, "node", saving.node);
      out += ", \"with\": [";
      for (std::size_t i = 0; i < saving.with.size(); ++i) out += (i == 0 ? "" : ", ") + std::to_string(saving.with[i]);
      out += "]";
      if (saving.alone) out += ", \"alone\": true";
      field(out, "host_seconds", saving.host_seconds);
      field(out, "accelerator_seconds", saving.accelerator_seconds);
    });
  }
  if (problem.accelerator_memory_bytes > 0) {
    out += ",\n ";
    out += "\"accelerator_memory_bytes\": ";
    append(out, problem.accelerator_memory_bytes);
  }
  return out + "}\n";
}

std::string placement_json(const LoadedProblem& loaded, const Placement& placement) {
  std::string out = "{\"objective_seconds\": ";
  append(out, placement.objective_seconds);
  out += ", \"bound_seconds\": ";
  append(out, placement.bound_seconds);
  out += ", \"gap\": ";
  append(out, placement.gap);
  out += ",\n \"nodes\": [";
  for (std::size_t i = 0; i < placement.on_host.size(); ++i) {
    out += i == 0 ? "\n  " : ",\n  ";
    out += !placement.on_accelerator[i] ? "{\"on\": [\"host\"]}"
           : !placement.on_host[i]      ? "{\"on\": [\"accelerator:0\"]}"
                                        : "{\"on\": [\"host\", \"accelerator:0\"]}";
  }
  out += "],\n \"transfers\": [";
  bool first = true;
  for (const PlannedTransfer& transfer : placement.transfers) {
    out += first ? "\n  " : ",\n  ";
    first = false;
    out += "{\"value\": " + std::to_string(transfer.value) + ", \"direction\": \"" +
           (transfer.to != kHost ? "host_to_accelerator" : "accelerator_to_host") +
           "\", \"region\": " + std::to_string(loaded.region_in_file[transfer.region]) + "}";
  }
  out += "],\n \"solve_seconds\": ";
  append(out, placement.solve_seconds);
  out += "}";
  return out;
}

}  // namespace cleave::planner
