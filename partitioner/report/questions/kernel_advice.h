// `explain --advise`: what runs on the host for the one reason that the accelerator has no kernel for it, by what such a kernel would save.
// Each is tried: the program as it would then be is planned (partitioner/apply/trials.h).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "partitioner/compile.h"

namespace cleave::planner {

/// One kernel that is missing: of an op, or of a host function.
struct KernelAdvice {
  std::string name;
  std::vector<NodeId> nodes;            ///< that it would set free
  double host_seconds = 0;              ///< of a run
  std::optional<double> saved_seconds;  ///< of a run, predicted; nothing: not tried
};

/// The one that saves most first, then those that were not tried.
std::vector<KernelAdvice> advise_kernels(const Plan& plan, const CostModel& costs);
std::string to_text(const std::vector<KernelAdvice>& advice, const Plan& plan, std::size_t most);
std::string to_json(const std::vector<KernelAdvice>& advice, const Plan& plan, std::size_t most);

}  // namespace cleave::planner
