// `cleave plan`: solves a bare placement problem, or a workload of the public device-placement benchmark.
#include <unistd.h>

#include <cstdio>

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

}  // namespace

int plan_command(const Options& options) {
  const Console console(options);
  const ProblemFormat format = options.format == "cleave" ? ProblemFormat::cleave : ProblemFormat::device_placement;
  auto loaded = load_problem(options.model, format, options.quiet ? nullptr : progress_on_terminal());
  if (!loaded) return console.fail(loaded.error());
  if (!options.accelerator_memory.empty())
    if (Status set = set_accelerator_memory(loaded->problem, options.accelerator_memory); !set) return console.fail(set.error());
  const auto placement = solve(loaded->problem, {.solver = options.solver == "boost" ? Solver::boost : Solver::flat});
  if (!placement) return console.fail(placement.error());
  console.document(placement_json(*loaded, *placement) + "\n");
  return kDone;
}

}  // namespace cleave::cli
