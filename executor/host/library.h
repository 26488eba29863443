// Loads host functions from shared libraries, by the plain C interface of <cleave/host_function.h>. No other code loads user libraries.
#pragma once

#include <string>
#include <vector>

#include "graph/host_function.h"

namespace cleave::runtime {

/// Makes `declared` callable. The library is opened at its own path; if it is not there, at its file name in each of `library_paths`. It
/// stays loaded as long as the result or a copy of the result exists.
Result<HostFunction> load_host_function(const HostFunction& declared, const std::vector<std::string>& library_paths);

}  // namespace cleave::runtime
