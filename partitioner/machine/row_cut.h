// RowCut: how an operation, or several that run as one kernel, can be done some rows at a time, so that the first are done before the last
// operands are there. A row is what lies behind one index of the first axis of the result that has more than one. Element-wise operations
// can be cut, and reductions of what each row has by itself. Shapes alone; knows no memory and no time.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "partitioner/machine/kernel_request.h"

namespace cleave::planner {

/// Larger values are staged and copied in parts of so many bytes: what is done on them row by row need not wait for all of it.
inline constexpr std::int64_t kPartBytes = 2 << 20;

struct RowCut {
  static constexpr int kWhole = -1;
  std::int64_t rows = 0;
  std::vector<int> inputs;   ///< the axis of the rows; kWhole: every row needs all of it
  std::vector<int> steps;    ///< the same of what each step makes; of an operation by itself one
  std::vector<int> results;  ///< never kWhole
};

/// Nothing: it cannot be cut. Rows lie one behind the other in all that is cut.
std::optional<RowCut> row_cut(const KernelRequest& request);

/// The request for the rows from `begin` to `end`: shorter operands and results, in their part of the ranges.
KernelRequest rows_of(const KernelRequest& request, const RowCut& cut, std::int64_t begin, std::int64_t end);

}  // namespace cleave::planner
