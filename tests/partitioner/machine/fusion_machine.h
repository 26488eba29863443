// A machine on which launching, transferring and computing cost about the same, so that fusion decides placements.
#pragma once

#include <algorithm>

#include "executor/device/kernel.h"
#include "graph/kernel/kernel_request.h"
#include "partitioner/compile.h"
#include "partitioner/machine/machine.h"
#include "tests/support/namespaces.h"

namespace cleave::testing {

inline Machine slow_link_machine() {
  return *Machine::parse(R"(machine: m
provenance: assumed
host:
  flops: {f32: 50000000000.0}
  bytes_per_second: 20000000000.0
  overhead_seconds: 2e-06
accelerators:
  - flops: {f32: 1000000000000.0}
    bytes_per_second: 20000000000.0
    overhead_seconds: 5e-07
    link:
      host_to_accelerator: {latency_seconds: 0, bytes_per_second: 5000000000.0}
      accelerator_to_host: {latency_seconds: 0, bytes_per_second: 2500000000.0}
)",
                         "m.yaml");
}

/// Accepts element-wise operations of one shape.
inline bool elementwise_kernels(const KernelRequest& request) {
  const auto& steps = request.steps;
  return std::all_of(steps.begin(), steps.end(),
                     [&](const FusedStep& step) { return step.op->elementwise() && step.type.shape == steps[0].type.shape; });
}

/// Options for that machine which, depending on the seed, allow row kernels on the host, on the accelerator, on both or on neither.
inline PlanOptions options_by_turns(std::uint64_t seed) {
  PlanOptions options;
  options.costs.machine = slow_link_machine();
  options.costs.host_fuses = seed % 2 ? FusionRule(host_fuses) : FusionRule(elementwise_kernels);
  options.costs.accelerator_fuses = seed % 3 ? FusionRule(elementwise_kernels) : FusionRule(host_fuses);
  return options;
}

}  // namespace cleave::testing
