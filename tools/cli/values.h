// Values between the command line, JSON and arrays.
#pragma once

#include <map>
#include <string>

#include "graph/array/array.h"
#include "graph/base/json_writer.h"
#include "graph/base/result.h"
#include "graph/graph.h"
#include "tools/cli/options.h"

namespace cleave::cli {

/// A value as written after `--input NAME=`: an .npy or .csv file, or a JSON number, bool or nested list of the type's shape (rows of equal
/// length; "NaN", "Infinity", "-Infinity" as strings). A single value fills the shape. Integers must fit the element type.
Result<Array> read_value(const std::string& text, const TensorType& type);

/// The values of --input and --param, each read with the type that the model declares.
Result<std::map<std::string, Array>> read_inputs(const Graph& graph, const Options& options);

/// Nested lists of an array's elements, a bare number or bool at rank 0; what JSON cannot hold as "NaN", "Infinity", "-Infinity".
void write_json(JsonWriter& json, const Array& array);

}  // namespace cleave::cli
