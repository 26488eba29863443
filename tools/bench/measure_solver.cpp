// Time and memory of the solver by family and size, each measurement in a process of its own so that its peak memory is its own:
//   measure_solver growth FAMILY|all [OPERATIONS ...]    our solver, by default from 10000 to 10000000 operations
//   measure_solver against FAMILY|all [OPERATIONS ...]   and the same problem through Boost, by default 1000000 operations
// Prints Markdown tables. Memory is the peak of the whole process, the problem and its generator included.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <optional>
#include <string>
#include <vector>

#include "graph/base/check.h"
#include "partitioner/solver/network.h"
#include "partitioner/solver/placement.h"
#include "tools/bench/boost_list.h"
#include "tools/bench/graph_families.h"

namespace cleave::bench {

using namespace planner;
namespace {

enum class Way : std::uint8_t { ours, boost_sparse, boost_list };

struct Measured {
  double seconds = 0, bytes = 0, objective_seconds = 0;
};

/// Processor seconds, which other work on the machine hardly affects.
double now() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// Builds the network and computes the value of its cut; the time to read a placement from the cut is not included.
Measured solve_by_list(const PlacementProblem& problem) {
  const double begin = now();
  const auto contraction = contract(problem);
  CLEAVE_CHECK(contraction.ok());
  const UsesByValue uses(problem);
  const CapacityScale scale(problem, uses);
  const PlacementNetwork network = make_network(problem, *contraction, uses, scale);
  const std::int64_t value = min_cut_boost_list(network.cut) + network.constant;
  return {now() - begin, 0, scale.seconds(value)};
}

Measured solve_once(const PlacementProblem& problem, Way way) {
  if (way == Way::boost_list) return solve_by_list(problem);
  const double begin = now();
  const auto placement = way == Way::ours ? solve(problem) : solve(problem, {.solver = Solver::boost, .reduce = false});
  const double seconds = now() - begin;
  CLEAVE_CHECK(placement.ok() && placement->gap == 0);
  return {seconds, 0, placement->objective_seconds};
}

/// Measures in a child process.
std::optional<Measured> measure(Family family, std::int32_t operations, Way way) {
  int pipe_ends[2];
  if (pipe(pipe_ends) != 0) return std::nullopt;
  const pid_t child = fork();
  if (child < 0) return std::nullopt;
  if (child == 0) {
    const PlacementProblem problem = make_problem(family, operations);
    const Measured measured = solve_once(problem, way);
    const bool sent = write(pipe_ends[1], &measured, sizeof measured) == sizeof measured;
    _exit(sent ? 0 : 1);
  }
  close(pipe_ends[1]);
  Measured measured;
  const bool received = read(pipe_ends[0], &measured, sizeof measured) == sizeof measured;
  close(pipe_ends[0]);
  int status = 0;
  rusage usage{};
  wait4(child, &status, 0, &usage);
  if (!received || status != 0) return std::nullopt;
  measured.bytes = static_cast<double>(usage.ru_maxrss) * 1024;
  return measured;
}

void row_of_growth(Family family, std::int32_t operations) {
  static_assert(sizeof(rusage::ru_maxrss) >= 8);
  const auto ours = measure(family, operations, Way::ours);
  if (!ours) std::exit(1);
  std::printf("| %s | %d | %.4g s | %.2f us | %.0f |\n", std::string(to_string(family)).c_str(), operations, ours->seconds,
              1e6 * ours->seconds / operations, ours->bytes / operations);
}

void row_of_comparison(Family family, std::int32_t operations) {
  const auto ours = measure(family, operations, Way::ours), sparse = measure(family, operations, Way::boost_sparse),
             list = measure(family, operations, Way::boost_list);
  if (!ours || !sparse || !list) std::exit(1);
  CLEAVE_CHECK(std::abs(list->objective_seconds - ours->objective_seconds) <= 1e-9 * ours->objective_seconds, "the solvers disagree");
  std::printf("| %s | %d | %.4g s | %.4g s | %.4g s | %.2f | %.2f | %.0f | %.0f | %.0f |\n", std::string(to_string(family)).c_str(),
              operations, ours->seconds, list->seconds, sparse->seconds, list->seconds / ours->seconds, sparse->seconds / ours->seconds,
              ours->bytes / operations, list->bytes / operations, sparse->bytes / operations);
}

int run(const std::string& what, std::vector<Family> families, const std::vector<std::int32_t>& sizes) {
  const bool growth = what == "growth";
  std::puts(
      growth ? "| family | operations | time | per operation | bytes per operation |\n|---|--:|--:|--:|--:|"
             : "| family | operations | ours | Boost BK, adjacency_list | Boost BK, CSR | list / ours | CSR / ours | bytes per operation "
               "| list | CSR |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|");
  for (const Family family : families) {
    for (const std::int32_t operations : sizes) {
      growth ? row_of_growth(family, operations) : row_of_comparison(family, operations);
      std::fflush(stdout);
    }
  }
  return 0;
}

}  // namespace
}  // namespace cleave::bench

int main(int argc, char** argv) {
  using namespace cleave::bench;
  const std::string what = argc > 1 ? argv[1] : "", which = argc > 2 ? argv[2] : "";
  std::vector<Family> families;
  if (which == "all") families.assign(all_families().begin(), all_families().end());
  if (const auto family = parse_family(which)) families.push_back(*family);
  std::vector<std::int32_t> sizes;
  for (int i = 3; i < argc; ++i) sizes.push_back(static_cast<std::int32_t>(std::strtol(argv[i], nullptr, 10)));
  bool right = !families.empty() && (what == "growth" || what == "against");
  for (const std::int32_t size : sizes) right &= size > 0 && size <= 10000000;
  if (!right) {
    std::fputs("usage: measure_solver growth|against FAMILY|all [OPERATIONS ...]\n", stderr);
    return 2;
  }
  if (sizes.empty())
    sizes = what == "growth" ? std::vector<std::int32_t>{10000, 100000, 1000000, 10000000} : std::vector<std::int32_t>{1000000};
  return run(what, std::move(families), sizes);
}
