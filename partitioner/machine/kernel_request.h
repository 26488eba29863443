// KernelRequest: an operation, or several that run as one kernel, as those who have kernels are asked for it: whether there is one, when a
// program is planned; to make it, when a run is prepared, and only then with the places of its operands. Knows no device.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "graph/attributes.h"
#include "graph/base/id.h"
#include "graph/graph.h"
#include "graph/op.h"

namespace cleave::planner {

/// A piece of a device's arena.
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
  /// Of a cut (row_cut.h): so many rows of how many. Its results are to the bit those that the whole has there.
  std::int64_t rows = 1, all_rows = 1;
};

/// Whether a side has one kernel for a request of several steps, whose ranges are not read. Null: never. What it takes it takes in every
/// part too: what is left of a group without its first or last steps, with as many results written or fewer.
using FusionRule = std::function<bool(const KernelRequest&)>;

}  // namespace cleave::planner
