// KernelRequest: what a kernel is asked for before the first run: an operation, or several that run as one, with everything about them that
// stays the same.
#pragma once

#include <vector>

#include "executor/runtime.h"
#include "graph/attributes.h"
#include "graph/base/id.h"
#include "graph/op.h"

namespace cleave::runtime {

/// A piece of the device's arena.
struct Range {
  std::int64_t offset = 0;
  std::int64_t bytes = 0;
};

/// One of several operations that run as one kernel.
struct FusedStep {
  NodeId node;
  const OpDef* op = nullptr;
  const Attributes* attributes = nullptr;
  std::vector<std::size_t> operands;  ///< the request's inputs, then the results of the steps before this one
  TensorType type;                    ///< of its one result
};

/// An operation with its operands where they will always be.
struct KernelRequest {
  NodeId node;
  const OpDef* op = nullptr;
  const Attributes* attributes = nullptr;
  std::vector<TensorType> input_types, result_types;
  std::vector<Range> inputs, results;
  /// Fused: what is done, in order; `node`, `op` and `attributes` are the last one's. Empty: `op` alone.
  std::vector<FusedStep> steps;
  std::vector<std::size_t> written;  ///< fused: the steps whose results are `results`
};

}  // namespace cleave::runtime
