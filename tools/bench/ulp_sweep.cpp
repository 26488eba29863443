// Sweeps a math function over all 2^32 numbers of f32, through the executor's own loops for every instruction set of this machine, and
// prints the largest error and its argument. The table in ulp.cpp and docs/guide/running.md have its results.
//
//   ulp_sweep [FUNCTION]... [--every N]
//
// Without a FUNCTION: all of them, a minute or two each. Exits with 1 if a bound does not hold.
#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdio>
#include <string>
#include <vector>

#include "tools/bench/ulp.h"

namespace cleave::bench {
namespace {

bool within_bound(const MathFunction& function, std::uint64_t every) {
  UlpSweep sweep(function);
  for (std::uint64_t bits = 0; bits < std::uint64_t(1) << 32; bits += every) sweep.take_bits(static_cast<std::uint32_t>(bits));
  bool within = true;
  for (const UlpSweep::Worst& worst : sweep.finish()) {
    std::printf("%-10s f32 by %-8s worst %.4f ulp at %a (bits 0x%08x), bound %g%s\n", std::string(function.op).c_str(),
                std::string(to_string(worst.level)).c_str(), worst.ulp, static_cast<double>(worst.at),
                std::bit_cast<std::uint32_t>(worst.at), function.single_bound, worst.ulp > function.single_bound ? ": BROKEN" : "");
    std::fflush(stdout);
    within = within && worst.ulp <= function.single_bound;
  }
  return within;
}

int wrong_usage() {
  std::string names;
  for (const MathFunction& function : math_functions()) names += " " + std::string(function.op);
  std::fprintf(stderr, "usage: ulp_sweep [FUNCTION]... [--every N]\nfunctions:%s\n", names.c_str());
  return 2;
}

int run(const std::vector<std::string>& words) {
  std::uint64_t every = 1;
  std::vector<const MathFunction*> chosen;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--every") {
      if (++i == words.size()) return wrong_usage();
      const auto [end, error] = std::from_chars(words[i].data(), words[i].data() + words[i].size(), every);
      if (error != std::errc() || end != words[i].data() + words[i].size() || every == 0) return wrong_usage();
      continue;
    }
    const auto found = std::ranges::find(math_functions(), words[i], &MathFunction::op);
    if (found == math_functions().end()) return wrong_usage();
    chosen.push_back(&*found);
  }
  if (chosen.empty()) {
    for (const MathFunction& function : math_functions()) chosen.push_back(&function);
  }
  if (runtime::host::levels().empty()) std::puts("no vectorised loops in this build, or for this machine");
  bool within = true;
  for (const MathFunction* function : chosen) within = within_bound(*function, every) && within;
  return within ? 0 : 1;
}

}  // namespace
}  // namespace cleave::bench

int main(int argc, char** argv) {
  return cleave::bench::run({argv + 1, argv + argc});
}
