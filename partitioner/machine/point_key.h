// The keys of tables of measured times in a machine file: `matmul/f32`, or with what the measuring differed in: `matmul/f32/rows_8`.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/op.h"

namespace cleave::planner {

struct PointKey {
  const OpDef* op = nullptr;
  std::optional<DType> type;     ///< nothing: `tf32`
  std::string variant;           ///< `rows_8`, `rows_4_columns_16`, `one_thread`, `fused`; empty: the operation as it is
  std::string form;              ///< of a variant that is a form (graph/work.h): its name …
  double extent = 0;             ///< … and extent
  double rows = 0, columns = 0;  ///< of a variant that names both
};

/// Nothing: it is none.
std::optional<PointKey> parse_point_key(std::string_view text);
/// What is wrong with one that is none.
std::string what_is_wrong_with_key(std::string_view text);
std::string point_key(const OpDef& op, DType type, std::string_view variant = {});

}  // namespace cleave::planner
