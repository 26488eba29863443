// Writes a placement problem of one family, for `cleave plan`: make_problem FAMILY OPERATIONS [SEED] > problem.json
#include <cstdio>
#include <cstdlib>
#include <string>

#include "partitioner/solver/problem_json.h"
#include "tools/bench/graph_families.h"

int main(int argc, char** argv) {
  using namespace cleave;
  using namespace cleave::planner;
  const auto family = argc >= 3 ? bench::parse_family(argv[1]) : std::nullopt;
  const long operations = argc >= 3 ? std::strtol(argv[2], nullptr, 10) : 0;
  if (argc > 4 || !family || operations < 1 || operations > 10000000) {
    std::fputs("usage: make_problem FAMILY OPERATIONS [SEED], with at most 10000000 operations and a family of\n", stderr);
    for (const bench::Family each : bench::all_families()) std::fprintf(stderr, "  %s\n", std::string(bench::to_string(each)).c_str());
    return 2;
  }
  const unsigned long long seed = argc == 4 ? std::strtoull(argv[3], nullptr, 10) : 1;
  const std::string text = problem_json(bench::make_problem(*family, static_cast<std::int32_t>(operations), seed));
  return std::fwrite(text.data(), 1, text.size(), stdout) == text.size() ? 0 : 1;
}
