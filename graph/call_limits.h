// CallLimits: how long a host function that is under way may be waited for. Whoever runs a program fills them in; see host_function.h.
#pragma once

#include <optional>
#include <stop_token>

namespace cleave {

struct CallLimits {
  std::stop_token stop;           ///< asked to stop: nobody wants the results any more
  std::optional<double> seconds;  ///< nothing: for ever
  /// Whether the limit is the function's own. Else it is the one that holds for whatever has none.
  bool declared = false;
};

}  // namespace cleave
