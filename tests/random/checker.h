// Runs a random program in many ways and says where two of them disagree: the reference executor, every node against its reference
// implementation, devices, placements, numbers of threads, fusion, the text form, and repeated runs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tests/random/generator.h"

namespace cleave::testing {

struct CheckOptions {
  std::vector<int> threads = {1, 2, 4};
  std::string device_loops;  ///< a machine file of an accelerator that decides loops; empty: none
};

/// The disagreement, beginning with the way of running; nothing if all agree.
std::optional<std::string> check(const GeneratedProgram& program, std::uint64_t seed, const CheckOptions& options);

}  // namespace cleave::testing
