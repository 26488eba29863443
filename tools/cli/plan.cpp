// `cleave plan`: solves a bare placement problem, or a workload of the public device-placement benchmark.
#include <unistd.h>

#include <cstdio>

#include "partitioner/devices/devices_json.h"
#include "partitioner/devices/latency.h"
#include "partitioner/devices/least_cost.h"
#include "partitioner/devices/throughput.h"
#include "partitioner/solver/problem_json.h"
#include "tools/cli/session.h"

namespace cleave::cli {
namespace {

/// Shows the percentage read, overwritten in place; on a terminal only.
ReadProgress progress_on_terminal() {
  if (isatty(STDERR_FILENO) == 0) return nullptr;
  return [shown = -1](double fraction) mutable {
    const int percent = static_cast<int>(fraction * 100);
    if (percent == shown) return;
    shown = percent;
    std::fprintf(stderr, percent < 100 ? "\rreading %d %%" : "\r\033[K", percent);
    std::fflush(stderr);
  };
}

/// Whether the problem is that of the host and one accelerator, with its own exact solver.
bool is_two_sided(const Options& options, const LoadedProblem& loaded) {
  return options.objective == "cost" && options.accelerators <= 1 && loaded.accelerators.empty();
}

int plan_for_devices(const Console& console, const Options& options, LoadedProblem loaded) {
  if (!options.solver.empty()) return console.fail(Error{"`--solver` is for the cost on one accelerator", {}, ErrorKind::usage});
  const std::vector<std::int32_t> region_in_file = loaded.region_in_file;
  const auto problem = device_problem(std::move(loaded), static_cast<std::size_t>(options.accelerators));
  if (!problem) return console.fail(Error{options.model + ": " + problem.error().message});
  const auto placement = options.objective == "cost"      ? place_by_cost(*problem)
                         : options.objective == "latency" ? place_by_latency(*problem)
                                                          : place_by_throughput(*problem, {.contiguous = options.contiguous});
  if (!placement) return console.fail(placement.error());
  console.document(placed_devices_json(region_in_file, *placement) + "\n");
  return kDone;
}

}  // namespace

int plan_command(const Options& options) {
  const Console console(options);
  const ProblemFormat format = options.format == "cleave" ? ProblemFormat::cleave : ProblemFormat::device_placement;
  auto loaded = load_problem(options.model, format, options.quiet ? nullptr : progress_on_terminal());
  if (!loaded) return console.fail(loaded.error());
  if (!options.accelerator_memory.empty())
    if (Status set = set_accelerator_memory(loaded->problem, options.accelerator_memory); !set) return console.fail(set.error());
  if (options.contiguous && options.objective != "throughput")
    return console.fail(Error{"`--contiguous` needs `--objective throughput`", {}, ErrorKind::usage});
  if (!is_two_sided(options, *loaded)) return plan_for_devices(console, options, *std::move(loaded));
  const auto placement = solve(loaded->problem, {.solver = options.solver == "boost" ? Solver::boost : Solver::flat});
  if (!placement) return console.fail(placement.error());
  console.document(placement_json(*loaded, *placement) + "\n");
  return kDone;
}

}  // namespace cleave::cli
