// RowDomain: whether several steps can run row by row: element-wise steps over a shape [..., columns], reductions of its rows, element-wise
// steps on a value a row, and all of them reading values a row as broadcasting repeats them. Knows no kernel.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "executor/runtime.h"
#include "graph/array/tensor_type.h"
#include "partitioner/machine/kernel_request.h"

namespace cleave::runtime::host {

enum class RowStep : std::uint8_t {
  full,       ///< element-wise over the whole shape
  reduction,  ///< of all rows: a value each
  row,        ///< element-wise over such values
};

struct RowDomain {
  Shape shape;
  std::size_t outer_axes = 0;  ///< of `shape`: their indices number the rows; those behind are one row
  std::int64_t rows = 0, columns = 0;
  std::int64_t widest = 1;     ///< bytes of an element of all values over the whole shape
  bool spreads = false;        ///< a step over the whole shape reads a value a row that a step before has made
  bool finds = false;          ///< a step finds places of extremes
  std::vector<RowStep> steps;  ///< as the request's
};

/// Nothing where the steps do not run row by row, or are all element-wise over one shape.
std::optional<RowDomain> row_domain(const KernelRequest& request);

}  // namespace cleave::runtime::host
