#include "partitioner/machine/point_key.h"

#include <algorithm>
#include <array>

#include "graph/array/precision.h"
#include "graph/base/number_text.h"
#include "graph/base/spelling.h"

namespace cleave::planner {
namespace {

constexpr std::array<std::string_view, 6> kForms = {"rows", "columns", "depth", "inner", "outer", "run"};
constexpr std::array<std::string_view, 2> kOthers = {"one_thread", "fused"};

struct Parts {
  std::string_view op, type, variant;
  bool has_type = false, has_variant = false;
};

Parts parts_of(std::string_view text) {
  Parts parts;
  const std::size_t first = text.find('/');
  parts.op = text.substr(0, first);
  if (first == std::string_view::npos) return parts;
  parts.has_type = true;
  const std::string_view rest = text.substr(first + 1);
  const std::size_t second = rest.find('/');
  parts.type = rest.substr(0, second);
  if (second == std::string_view::npos) return parts;
  parts.has_variant = true;
  parts.variant = rest.substr(second + 1);
  return parts;
}

/// Parses an extent; 0 if the text is none.
double read_extent(std::string_view text) {
  const bool number = !text.empty() && text.size() <= 12 && text.find_first_not_of("0123456789") == std::string_view::npos;
  return number ? read_double(std::string(text)).value_or(0) : 0;
}

/// Parses `rows_4_columns_16`.
bool read_sides(std::string_view variant, PointKey& key) {
  constexpr std::string_view kRows = "rows_", kColumns = "_columns_";
  const std::size_t second = variant.find(kColumns);
  if (!variant.starts_with(kRows) || second == std::string_view::npos) return false;
  key.rows = read_extent(variant.substr(kRows.size(), second - kRows.size()));
  key.columns = read_extent(variant.substr(second + kColumns.size()));
  return key.rows >= 1 && key.columns >= 1;
}

bool read_variant(std::string_view variant, PointKey& key) {
  key.variant = variant;
  if (std::find(kOthers.begin(), kOthers.end(), variant) != kOthers.end() || read_sides(variant, key)) return true;
  const std::size_t mark = variant.rfind('_');
  if (mark == std::string_view::npos) return false;
  key.form = variant.substr(0, mark);
  if (std::find(kForms.begin(), kForms.end(), key.form) == kForms.end()) return false;
  key.extent = read_extent(variant.substr(mark + 1));
  return key.extent >= 1;
}

}  // namespace

std::optional<PointKey> parse_point_key(std::string_view text) {
  const Parts parts = parts_of(text);
  PointKey key;
  key.op = find_op(parts.op);
  key.type = parse_dtype(parts.type);
  const bool tf32 = parts.type == to_string(Precision::tf32);
  if (!key.op || !parts.has_type || (!key.type && !tf32)) return std::nullopt;
  if (parts.has_variant && !read_variant(parts.variant, key)) return std::nullopt;
  return key;
}

std::string what_is_wrong_with_key(std::string_view text) {
  const std::string quoted = "`" + std::string(text) + "`";
  const Parts parts = parts_of(text);
  const std::string op(parts.op);
  if (op.empty() || !parse_dtype(parts.type)) return quoted + " is not of the form `op/type`, as in `matmul/f32`";
  if (!find_op(op)) {
    std::vector<std::string> ops;
    for (const OpDef* known : all_ops()) ops.emplace_back(known->name);
    return quoted + ": there is no operation `" + op + "`" + did_you_mean(op, ops);
  }
  std::string forms;
  for (const std::string_view form : kForms) forms += "`" + std::string(form) + "_N`, ";
  return quoted + ": there is no variant `" + std::string(parts.variant) + "`; there are " + forms +
         "`rows_N_columns_N`, `one_thread` and `fused`";
}

std::string point_key(const OpDef& op, DType type, std::string_view variant) {
  std::string key = std::string(op.name) + "/" + std::string(to_string(type));
  if (!variant.empty()) key += "/" + std::string(variant);
  return key;
}

}  // namespace cleave::planner
