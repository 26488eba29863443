// CallLimits: how long the engine may wait for one call of a host function (host_function.h). The executor fills them in.
#pragma once

#include <optional>
#include <stop_token>

namespace cleave {

struct CallLimits {
  std::stop_token stop;           ///< stop is requested when the results are no longer needed
  std::optional<double> seconds;  ///< unset: no time limit
  /// Whether `seconds` is the function's own deadline. Otherwise it is the default for functions without one.
  bool declared = false;
};

}  // namespace cleave
