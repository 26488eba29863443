// Which device the device suite runs on: the first GPU, or what CLEAVE_TEST_DEVICE names (cuda:1, simulated). Tests skip, with the reason,
// where it cannot be had. CLEAVE_TEST_SEEDS sets how many random programs are run.
#pragma once

#include <cstdlib>
#include <string>

#include "tests/executor/run_support.h"

namespace cleave::testing {

/// The options of an executor on the device, or why there is none.
inline Result<ExecutorOptions> device_under_test() {
  const char* name = std::getenv("CLEAVE_TEST_DEVICE");
  ExecutorOptions options;
  if (Status status = choose_accelerator(name ? name : "cuda", options); !status) return status.error();
  options.watchdog_seconds = 60;
  options.library_paths = {CLEAVE_BINARY_DIR "/lib"};
  if (const char* libraries = std::getenv("CLEAVE_TEST_LIBRARIES")) options.library_paths.emplace_back(libraries);
  return options;
}

inline std::uint64_t seeds_to_test(std::uint64_t usual) {
  const char* text = std::getenv("CLEAVE_TEST_SEEDS");
  return text ? std::strtoull(text, nullptr, 10) : usual;
}

/// Where models and other files of the source tree are: the tree that was built, or CLEAVE_TEST_SOURCE where that is elsewhere.
inline std::string source_folder() {
  const char* folder = std::getenv("CLEAVE_TEST_SOURCE");
  return folder ? folder : CLEAVE_SOURCE_DIR;
}

inline CostModel costs_for(const ExecutorOptions& options) {
  CostModel model = simulated_costs();
  model.supported = kernel_support(options.accelerator);
  return model;
}

/// As plan_for, for what the device supports.
inline Planned plan_on(const ExecutorOptions& options, const std::shared_ptr<const Graph>& graph, Where where, std::uint64_t seed = 0) {
  const CostModel model = costs_for(options);
  Diagnostics diagnostics;
  const CostedProblem costed = make_problem(*graph, model, diagnostics);
  Planned planned;
  const Placement placement = place(costed.problem, where, seed);
  planned.transfers = make_transfers(*graph, costed, placement, model.machine);
  planned.program = std::make_shared<const Program>(split(graph, placement, planned.transfers));
  return planned;
}

}  // namespace cleave::testing
