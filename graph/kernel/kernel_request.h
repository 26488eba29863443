// KernelRequest: describes one operation, or several fused ones, to a back end. The planner asks whether a kernel exists for it; preparing
// a run asks for the kernel itself, and only then do the operands have ranges in memory. Knows no device.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "graph/attributes.h"
#include "graph/base/id.h"
#include "graph/graph.h"
#include "graph/op.h"

namespace cleave::kernels {

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
  std::vector<std::size_t> operands;  ///< indices: first the request's inputs, then the results of the steps before this one
  TensorType type;                    ///< type of its one result
};

/// An operation with the types of its operands and results, and their fixed ranges in the arena.
struct KernelRequest {
  NodeId node;
  const OpDef* op = nullptr;
  const Attributes* attributes = nullptr;
  std::vector<TensorType> input_types, result_types;
  std::vector<Range> inputs, results;
  /// If fused, the steps in order; `node`, `op` and `attributes` are then those of the last step. Empty: `op` alone.
  std::vector<FusedStep> steps;
  std::vector<std::size_t> written;  ///< if fused, the steps whose results are `results`
  /// If cut by rows (row_cut.h), the number of rows of this piece and of the whole. Results are bitwise equal to those rows of the whole.
  std::int64_t rows = 1, all_rows = 1;
};

/// Whether a device has a kernel for this operation with these types. Given by the executor, which knows the devices.
using KernelSupport = std::function<bool(const Graph& graph, NodeId node)>;

/// Whether a side has one kernel for a request of several steps; it does not read the ranges. Null: never. A rule that accepts a group must
/// also accept each of its parts: the group without its first or last steps, with at most as many results written.
using FusionRule = std::function<bool(const KernelRequest&)>;

}  // namespace cleave::kernels
