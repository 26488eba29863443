// Conversion of values between the command line, JSON and arrays.
#pragma once

#include <map>
#include <string>

#include "graph/array/array.h"
#include "graph/base/json_writer.h"
#include "graph/base/result.h"
#include "graph/graph.h"
#include "tools/cli/options.h"

namespace cleave::cli {

/// The values of --input and --param, each read with the type that the model declares.
Result<std::map<std::string, Array>> read_inputs(const Graph& graph, const Options& options);

/// An Error, at its line, for the first input or parameter that has neither a default in the model nor a value in `given`.
Status check_all_given(const Graph& graph, const std::map<std::string, Array>& given);

/// Writes an array as nested lists, or as a bare number or bool at rank 0; numbers that JSON lacks as "NaN", "Infinity", "-Infinity".
void write_json(JsonWriter& json, const Array& array);

}  // namespace cleave::cli
