// RowDomain: whether several steps can run row by row: element-wise steps over a shape [..., columns], reductions of its rows, and
// element-wise steps on one value per row, each of which may read per-row values by broadcasting. Independent of kernels.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "executor/runtime.h"
#include "graph/array/tensor_type.h"
#include "graph/kernel/kernel_request.h"

namespace cleave::runtime::host {

enum class RowStep : std::uint8_t {
  full,       ///< element-wise over the whole shape
  reduction,  ///< reduces each row to one value
  row,        ///< element-wise over values with one element per row
};

struct RowDomain {
  Shape shape;
  std::size_t outer_axes = 0;  ///< the leading axes of `shape` that number the rows; the others are inside a row
  std::int64_t rows = 0, columns = 0;
  std::int64_t widest = 1;     ///< bytes of the widest element among the values over the whole shape
  bool spreads = false;        ///< a step over the whole shape reads a per-row value that an earlier step has made
  bool finds = false;          ///< a step finds positions of extremes (argmax, argmin)
  std::vector<RowStep> steps;  ///< in the request's order
};

/// Nothing if the steps do not run row by row, or are all element-wise over one shape.
std::optional<RowDomain> row_domain(const KernelRequest& request);

}  // namespace cleave::runtime::host
