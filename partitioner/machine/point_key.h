// PointKey: the key of a table of measured times in a machine file: `matmul/f32`, or with the variant that was measured:
// `matmul/f32/rows_8`.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/op.h"

namespace cleave::planner {

struct PointKey {
  const OpDef* op = nullptr;
  std::optional<DType> type;     ///< empty: `tf32`
  std::string variant;           ///< `rows_8`, `rows_4_columns_16`, `one_thread`, `fused`; empty: the plain operation
  std::string form;              ///< name of the form, if the variant is a form (graph/work.h)
  double extent = 0;             ///< extent of that form
  double rows = 0, columns = 0;  ///< set if the variant names both
};

/// Parses a key; empty if the text is no valid key.
std::optional<PointKey> parse_point_key(std::string_view text);
/// Says what is wrong with a text that is no valid key.
std::string what_is_wrong_with_key(std::string_view text);
std::string point_key(const OpDef& op, DType type, std::string_view variant = {});

}  // namespace cleave::planner
