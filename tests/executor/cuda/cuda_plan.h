// Plans by a planner that knows the GPU's fusion rules.
#pragma once

#include <memory>
#include <utility>

#include "executor/cuda/back_end.h"
#include "tests/executor/run_support.h"

namespace cleave::testing {

inline CostModel fused_costs() {
  CostModel model = simulated_costs();
  model.accelerator_fuses = cuda::fuses;
  return model;
}

inline Planned plan_on_cuda(std::shared_ptr<const Graph> graph, Where where, std::uint64_t seed = 0, std::size_t ahead = kAllAhead) {
  return plan_with(fused_costs(), std::move(graph), where, seed, ahead);
}

/// A plan in which no operations are fused.
inline Planned plan_unfused(std::shared_ptr<const Graph> graph, Where where, std::uint64_t seed = 0) {
  CostModel model = simulated_costs();
  model.host_fuses = model.accelerator_fuses = nullptr;
  return plan_with(model, std::move(graph), where, seed, kAllAhead);
}

}  // namespace cleave::testing
