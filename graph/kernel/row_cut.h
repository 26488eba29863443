// RowCut: how an operation or a fused kernel can be executed some rows at a time, so that the first rows are done before all operands have
// arrived. A row is the part of the result at one index of its first axis that is longer than one. Element-wise operations can be cut, and
// reductions within each row. Uses shapes alone; knows no memory and no time.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "graph/kernel/kernel_request.h"

namespace cleave::kernels {

/// Values larger than this are staged and copied in chunks of this size, so that work on them row by row need not wait for the whole value.
inline constexpr std::int64_t kPartBytes = 2 << 20;

struct RowCut {
  static constexpr int kWhole = -1;
  std::int64_t rows = 0;
  std::vector<int> inputs;   ///< by input: its axis that corresponds to rows; kWhole: every row needs the whole input
  std::vector<int> steps;    ///< by step: the same axis of its result; a single operation has one step
  std::vector<int> results;  ///< by result: the same axis; never kWhole
};

/// How the request can be cut; empty if it cannot. Rows are contiguous in every value that is cut.
std::optional<RowCut> row_cut(const KernelRequest& request);

/// The request for the rows from `begin` to `end`, with the corresponding parts of operands, results and their ranges.
KernelRequest rows_of(const KernelRequest& request, const RowCut& cut, std::int64_t begin, std::int64_t end);

}  // namespace cleave::kernels
