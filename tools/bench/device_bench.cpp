// The device benchmark: runs each of device_programs() and writes medians, what bounds them and the measured fraction of it as JSON.
// Arguments: [--device NAME] [--machine FILE] [--small] [--only NAME] [--seconds S] [--out FILE] [--list]. Inputs start in host memory and
// results end there. With --out the document is on disk after each program; --list names the programs and their sizes and runs none.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "executor/api/executable.h"
#include "graph/base/check.h"
#include "graph/base/diagnostic_text.h"
#include "graph/base/version.h"
#include "partitioner/apply/elapsed_bounds.h"
#include "tools/bench/device_programs.h"

namespace cleave::bench {

using namespace planner;
namespace {

using nlohmann::ordered_json;

struct Arguments {
  std::string device = "auto", machine, only, out;
  bool small = false, list = false;
  double seconds = 1;  ///< of repetitions for each program
};

Precision precision_of(const std::string& name) {
  return name == "tf32" ? Precision::tf32 : name == "bf16" ? Precision::bf16 : Precision::f32;
}

/// How many transfers of which size, largest first.
ordered_json transfers_by_size(const Plan& plan) {
  std::map<std::pair<std::int64_t, bool>, double> counts;
  for (const Transfer& transfer : plan.transfers.items) counts[{-transfer.bytes, transfer.to == kHost}] += transfer.frequency;
  ordered_json rows = ordered_json::array();
  for (const auto& [key, count] : counts)
    rows.push_back({{"direction", key.second ? "to_host" : "to_device"}, {"bytes", -key.first}, {"count", count}});
  return rows;
}

/// What the plan says must be done at least, whoever does it.
ordered_json bounds(const Plan& plan) {
  double to_accelerator = 0, to_host = 0, flops = 0, memory = 0;
  for (const Transfer& transfer : plan.transfers.items)
    (transfer.to == kHost ? to_host : to_accelerator) += static_cast<double>(transfer.bytes) * transfer.frequency;
  for (std::size_t i = 0; i < plan.graph->nodes.size(); ++i) {
    const Node& node = plan.graph->nodes[NodeId(i)];
    if (node.kind != NodeKind::operation || !plan.placement.on_accelerator[i]) continue;
    std::vector<TensorType> inputs, results;
    for (const ValueId value : node.inputs) inputs.push_back(plan.graph->values[value].type);
    for (const ValueId value : node.results) results.push_back(plan.graph->values[value].type);
    const Cost cost = node.op->cost(inputs, results, node.attributes);
    const double frequency = plan.costed.frequency[node.region];
    flops += cost.flops * frequency;
    memory += cost.bytes * frequency;
  }
  const ElapsedBounds elapsed = find_elapsed_bounds(*plan.graph, plan.costed, plan.placement, plan.transfers);
  return {{"link_bytes_to_accelerator", to_accelerator}, {"link_bytes_to_host", to_host},
          {"transfers", transfers_by_size(plan)},        {"accelerator_flops", flops},
          {"accelerator_memory_bytes", memory},          {"critical_path_seconds", elapsed.critical_path_seconds},
          {"busiest_seconds", elapsed.busiest_seconds},  {"busiest", std::string(to_string(elapsed.busiest))}};
}

/// Whole at every moment, as whoever reads it may do so at any: written beside and moved there. To standard output where no file is named.
bool write(const ordered_json& document, const std::string& file) {
  if (file.empty()) return std::puts(document.dump(1).c_str()) >= 0;
  const std::string beside = file + ".new";
  std::ofstream out(beside);
  out << document.dump(1) << "\n";
  out.close();
  return out.good() && std::rename(beside.c_str(), file.c_str()) == 0;
}

ordered_json run_one(const DeviceProgram& program, const Arguments& arguments) {
  ordered_json row{{"name", program.name}, {"sizes", program.sizes}, {"precision", program.precision}};
  if (arguments.list) return row;
  CompileOptions options;
  options.device = arguments.device;
  options.machine = arguments.machine;
  options.placement = program.placement;
  options.executor.precision = precision_of(program.precision);
  const Result<Executable> executable = compile(program.graph, options);
  if (!executable) return row["error"] = to_text(executable.error()), row;
  const Plan& plan = executable->plan();
  std::vector<double> seconds;
  double simulated = 0;
  using Clock = std::chrono::steady_clock;
  const auto warm = Clock::now();
  auto start = warm;
  for (int run = 0;; ++run) {
    const auto before = Clock::now();
    if (run <= 2) start = before;
    const Result<RunResult> result = executable->run(program.inputs);
    if (!result) return row["error"] = to_text(result.error()), row;
    const auto after = Clock::now();
    if (run >= 2) seconds.push_back(std::chrono::duration<double>(after - before).count());
    simulated = result->simulated_seconds;
    if (seconds.size() >= 5 && std::chrono::duration<double>(after - start).count() >= arguments.seconds) break;
    if (!seconds.empty() && std::chrono::duration<double>(after - warm).count() >= 20 * arguments.seconds) break;
  }
  std::sort(seconds.begin(), seconds.end());
  const double median = seconds[seconds.size() / 2];
  row["runs"] = seconds.size();
  row["seconds"] = median;
  row["seconds_p10"] = seconds[seconds.size() / 10];
  row["seconds_p90"] = seconds[seconds.size() * 9 / 10];
  if (simulated > 0) row["simulated_seconds"] = simulated;
  row["predicted_seconds"] = plan.predicted_seconds;
  row["bound"] = bounds(plan);
  const double bound = std::max(row["bound"]["critical_path_seconds"].get<double>(), row["bound"]["busiest_seconds"].get<double>());
  row["fraction_of_bound"] = bound / (simulated > 0 ? simulated : median);
  return row;
}

Arguments parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto value = [&]() -> std::string { return ++i < argc ? argv[i] : ""; };
    if (word == "--small") {
      arguments.small = true;
    } else if (word == "--list") {
      arguments.list = true;
    } else if (word == "--out") {
      arguments.out = value();
    } else if (word == "--device") {
      arguments.device = value();
    } else if (word == "--machine") {
      arguments.machine = value();
    } else if (word == "--only") {
      arguments.only = value();
    } else if (word == "--seconds") {
      arguments.seconds = std::strtod(value().c_str(), nullptr);
    } else {
      std::fprintf(stderr,
                   "usage: device_bench [--device NAME] [--machine FILE] [--small] [--only NAME] [--seconds S] [--out FILE] [--list]\n");
      std::exit(2);
    }
  }
  return arguments;
}

}  // namespace
}  // namespace cleave::bench

int main(int argc, char** argv) {
  using namespace cleave::bench;
  const Arguments arguments = parse(argc, argv);
  ordered_json document{{"cleave", cleave::kVersion}, {"device", arguments.device}, {"programs", ordered_json::array()}};
  bool failed = false;
  for (const cleave::bench::DeviceProgram& program : device_programs(arguments.small)) {
    if (!arguments.only.empty() && program.name != arguments.only) continue;
    document["programs"].push_back(run_one(program, arguments));
    const ordered_json& row = document["programs"].back();
    failed = failed || row.contains("error");
    if (arguments.list) continue;
    std::fprintf(stderr, "%s: %s\n", program.name.c_str(),
                 row.contains("error") ? row["error"].get<std::string>().c_str() : row["seconds"].dump().c_str());
    if (!arguments.out.empty() && !write(document, arguments.out)) break;
  }
  if (!write(document, arguments.out)) {
    std::fprintf(stderr, "device_bench: cannot write %s\n", arguments.out.c_str());
    return 1;
  }
  return failed ? 1 : 0;
}
