// Arrays of C callers as Arrays, and Arrays as the results that C callers read.
#pragma once

#include <cleave/c.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "graph/array/array.h"

struct cleave_results {
  std::vector<std::pair<std::string, cleave::Array>> arrays;
  double seconds = 0;
};

namespace cleave::c {

/// The array's type, without its data.
cleave_array describe(const TensorType& type);
/// The array that is lent to the caller.
cleave_array describe(const Array& array);

/// The caller's arrays by name, read in place. An Error (usage) for an array that cannot be one, and for a name that stands twice.
Result<std::map<std::string, Array>> borrowed(const cleave_named_array* inputs, std::size_t count);

}  // namespace cleave::c
