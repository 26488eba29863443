// read_value: parses a value from the command line.
#pragma once

#include <string>
#include <string_view>

#include "graph/array/array.h"
#include "graph/base/result.h"

namespace cleave {

/// As after `--input NAME=`: a file that read_array reads, or a JSON number, bool or nested list of the type's shape (rows of equal length;
/// "NaN", "Infinity", "-Infinity" as strings). A single value fills the shape. Integers must fit the element type.
Result<Array> read_value(const std::string& text, const TensorType& type, std::string_view name);

}  // namespace cleave
