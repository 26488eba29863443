// The device benchmark: runs each of device_programs() and writes medians, their lower bounds (device_bounds.h) and the attained fraction
// of those as JSON. Arguments: [--device NAME] [--machine FILE] [--small] [--only NAME] [--seconds S] [--out FILE] [--list] [--plan]
// [--timeline FOLDER] (of each program, the timeline of one more run, in Chrome's trace event format).
// Inputs start in page-locked host memory and results end there. With --out, the document is on disk after each program; --list names the
// programs and their sizes, --plan adds the predictions of --machine; neither runs any.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "executor/api/executable.h"
#include "executor/api/page_locked.h"
#include "graph/base/check.h"
#include "graph/base/diagnostic_text.h"
#include "graph/base/version.h"
#include "tools/bench/device_bounds.h"
#include "tools/bench/device_programs.h"

namespace cleave::bench {

namespace {

using nlohmann::ordered_json;

struct Arguments {
  std::string device = "auto", machine, only, out, timeline;
  bool small = false, list = false, plan = false;
  double seconds = 1;  ///< duration of the repetitions of each program
};

Precision precision_of(const std::string& name) {
  return name == "tf32" ? Precision::tf32 : name == "bf16" ? Precision::bf16 : Precision::f32;
}

/// The number of transfers of each size, largest first.
ordered_json transfers_by_size(const Plan& plan) {
  std::map<std::pair<std::int64_t, bool>, double> counts;
  for (const planner::Transfer& transfer : plan.transfers.items) counts[{-transfer.bytes, transfer.to == kHost}] += transfer.frequency;
  ordered_json rows = ordered_json::array();
  for (const auto& [key, count] : counts)
    rows.push_back({{"direction", key.second ? "to_host" : "to_device"}, {"bytes", -key.first}, {"count", count}});
  return rows;
}

/// The least time of each family of kernels, at peak rates.
ordered_json families_of(const DeviceBounds& bounds) {
  ordered_json rows = ordered_json::array();
  for (const auto& [of, family] : bounds.families)
    rows.push_back(
        {{"family", to_string(of)}, {"flops", family.flops}, {"memory_bytes", family.memory_bytes}, {"seconds", family.seconds()}});
  return rows;
}

/// The rates of a run that took `seconds`, and their shares of the peaks.
ordered_json reached(const DeviceBounds& bounds, double seconds) {
  return {{"link_bytes_per_second", (bounds.link_bytes_to_accelerator + bounds.link_bytes_to_host) / seconds},
          {"flops_per_second", bounds.flops / seconds},
          {"memory_bytes_per_second", bounds.memory_bytes / seconds},
          {"share_of_link", bounds.link_seconds / seconds},
          {"share_of_compute", bounds.compute_seconds / seconds},
          {"share_of_memory", bounds.memory_seconds / seconds}};
}

ordered_json to_json(const DeviceBounds& bounds, const Plan& plan) {
  return {{"link_bytes_to_accelerator", bounds.link_bytes_to_accelerator},
          {"link_bytes_to_host", bounds.link_bytes_to_host},
          {"transfers", transfers_by_size(plan)},
          {"accelerator_flops", bounds.flops},
          {"accelerator_memory_bytes", bounds.memory_bytes},
          {"link_seconds", bounds.link_seconds},
          {"compute_seconds", bounds.compute_seconds},
          {"memory_seconds", bounds.memory_seconds},
          {"families", families_of(bounds)}};
}

/// Puts inputs and results into page-locked memory, as the PyTorch program does, so that the device copies directly.
Status lock_pages(const DeviceProgram& program, const std::string& device, RunOptions& run) {
  for (const auto& [name, array] : program.inputs) {
    Result<Array> locked = page_locked(array.type(), device);
    if (!locked) return locked.error();
    if (array.type().bytes() > 0) std::memcpy(locked->mutable_bytes(), array.bytes(), static_cast<std::size_t>(array.type().bytes()));
    run.inputs.emplace(name, *std::move(locked));
  }
  for (const Output& output : program.graph.outputs) {
    Result<Array> locked = page_locked(program.graph.values[output.value].type, device);
    if (!locked) return locked.error();
    run.results.emplace(output.name, *std::move(locked));
  }
  return {};
}

/// Runs the program once more, and writes the timeline of that run.
Status write_timeline(const DeviceProgram& program, const Executable& executable, RunOptions options, const std::string& folder) {
  options.timeline = true;
  const Result<RunResult> result = executable.run(options);
  if (!result) return result.error();
  return write_chrome_trace(result->timeline, *executable.plan().graph, folder + "/" + program.name + ".trace.json");
}

/// Writes the document to a temporary file and renames it, so that readers see a complete file at any moment. Without `file`, writes to
/// standard output.
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
  row["predicted_seconds"] = plan.predicted_seconds;
  if (arguments.plan) return row;
  RunOptions inputs_and_results;
  if (const Status locked = lock_pages(program, arguments.device, inputs_and_results); !locked)
    return row["error"] = to_text(locked.error()), row;
  std::vector<double> seconds;
  double simulated = 0;
  using Clock = std::chrono::steady_clock;
  const auto warm = Clock::now();
  auto start = warm;
  for (int run = 0;; ++run) {
    const auto before = Clock::now();
    if (run <= 2) start = before;
    const Result<RunResult> result = executable->run(inputs_and_results);
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
  const DeviceBounds bounds = find_bounds(plan);
  row["bound"] = to_json(bounds, plan);
  const double taken = simulated > 0 ? simulated : median;
  row["reached"] = reached(bounds, taken);
  if (bounds.seconds() > 0) row["fraction_of_bound"] = bounds.seconds() / taken;
  if (!arguments.timeline.empty())
    if (const Status written = write_timeline(program, *executable, inputs_and_results, arguments.timeline); !written)
      row["error"] = to_text(written.error());
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
    } else if (word == "--plan") {
      arguments.plan = true;
    } else if (word == "--out") {
      arguments.out = value();
    } else if (word == "--device") {
      arguments.device = value();
    } else if (word == "--machine") {
      arguments.machine = value();
    } else if (word == "--only") {
      arguments.only = value();
    } else if (word == "--timeline") {
      arguments.timeline = value();
    } else if (word == "--seconds") {
      arguments.seconds = std::strtod(value().c_str(), nullptr);
    } else {
      std::fprintf(
          stderr,
          "usage: device_bench [--device NAME] [--machine FILE] [--small] [--only NAME] [--seconds S] [--out FILE] [--list] [--plan] "
          "[--timeline FOLDER]\n");
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
    if (arguments.list || arguments.plan) continue;
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
