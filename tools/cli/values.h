// Values between the command line, JSON and arrays.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "graph/array/array.h"
#include "graph/base/result.h"

namespace cleave::cli {

/// A value as written after `--input NAME=`: an .npy or .csv file, or a JSON number, bool or nested list of the type's shape (rows of equal
/// length; "NaN", "Infinity", "-Infinity" as strings). A single value fills the shape. Integers must fit the element type.
Result<Array> read_value(const std::string& text, const TensorType& type);

/// Nested lists of an array's elements, a bare number or bool at rank 0; what JSON cannot hold as "NaN", "Infinity", "-Infinity".
nlohmann::ordered_json data_json(const Array& array);

}  // namespace cleave::cli
