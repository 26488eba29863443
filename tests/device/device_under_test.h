// The device that the device suite runs on: the first GPU, or the one that CLEAVE_TEST_DEVICE names (cuda:1, simulated). If that device is
// not available, tests skip and say why. CLEAVE_TEST_SEEDS sets the number of random programs.
#pragma once

#include <cstdlib>
#include <string>

#include "executor/api/back_ends.h"
#include "tests/executor/run_support.h"
#include "tests/support/namespaces.h"
#include "tests/support/places.h"

namespace cleave::testing {

/// The options of an executor on the device, or the reason why it is not available.
inline Result<ExecutorSetup> device_under_test() {
  const char* name = std::getenv("CLEAVE_TEST_DEVICE");
  ExecutorOptions options;
  options.watchdog_seconds = 60;
  options.library_paths = {binary_dir() + "/lib"};
  if (const char* libraries = std::getenv("CLEAVE_TEST_LIBRARIES")) options.library_paths.emplace_back(libraries);
  return choose_device(name ? name : "cuda", options);
}

inline std::uint64_t seeds_to_test(std::uint64_t usual) {
  const char* text = std::getenv("CLEAVE_TEST_SEEDS");
  return text ? std::strtoull(text, nullptr, 10) : usual;
}

/// The folder of the source tree, with models and other files: that of this build, or CLEAVE_TEST_SOURCE if it is elsewhere.
inline std::string source_folder() {
  const char* folder = std::getenv("CLEAVE_TEST_SOURCE");
  return folder ? folder : source_dir();
}

inline CostModel costs_for(const ExecutorSetup& setup) {
  CostModel model = simulated_costs();
  model.supported = setup.back_end.supports;
  return model;
}

/// Like plan_for, restricted to operations that the device supports.
inline Planned plan_on(const ExecutorSetup& setup, const std::shared_ptr<const Graph>& graph, Where where, std::uint64_t seed = 0) {
  return plan_with(costs_for(setup), graph, where, seed);
}

}  // namespace cleave::testing
