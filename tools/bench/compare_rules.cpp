// Compares simple placement rules with the optimum on every family: compare_rules [OPERATIONS [SEED]] prints a Markdown table.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "tools/bench/graph_families.h"
#include "tools/bench/rules.h"

int main(int argc, char** argv) {
  using namespace cleave;
  using namespace cleave::planner;
  const long operations = argc > 1 ? std::strtol(argv[1], nullptr, 10) : 100000;
  const unsigned long long seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  if (argc > 3 || operations < 1 || operations > 10000000) {
    std::fputs("usage: compare_rules [OPERATIONS [SEED]], with at most 10000000 operations\n", stderr);
    return 2;
  }
  std::printf("| family | optimum |");
  for (const bench::Rule rule : bench::all_rules()) std::printf(" %s |", std::string(to_string(rule)).c_str());
  std::printf("\n|---|--:|");
  for (std::size_t i = 0; i < bench::all_rules().size(); ++i) std::printf("--:|");
  std::printf("\n");
  for (const bench::Family family : bench::all_families()) {
    const PlacementProblem problem = make_problem(family, static_cast<std::int32_t>(operations), seed);
    const auto optimum = solve(problem);
    if (!optimum || optimum->gap > 0) return 1;
    std::printf("| %s | %.4g s |", std::string(to_string(family)).c_str(), optimum->objective_seconds);
    for (const bench::Rule rule : bench::all_rules()) {
      const auto placed = place_by(rule, problem);
      if (!placed || !verify(problem, *placed).empty()) return 1;
      std::printf(" +%.4g %% |", 100 * (placed->objective_seconds / optimum->objective_seconds - 1));
    }
    std::printf("\n");
    std::fflush(stdout);
  }
  return 0;
}
