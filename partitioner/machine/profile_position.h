// The key under which a Profile keeps what was observed at a place in the program.
#pragma once

#include <string>

#include "graph/base/source_location.h"

namespace cleave {

/// "file:line:column", as a file of JSON can hold it: a path may be of any bytes.
std::string profile_position(const SourceLocation& location);

}  // namespace cleave
