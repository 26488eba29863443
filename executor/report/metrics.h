// LoggedStep: the numbers that a program logs in one step, by `log("loss", loss)`. A step is a trip of a logging loop: an outermost one
// among the loops whose body has a `log` of its own. Steps are numbered from 0 over all logging loops of a run; a number that is logged
// outside of them belongs to the step that comes next, or is a step of its own if its label is logged inside of one, too.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/array/array.h"

namespace cleave {

struct LoggedStep {
  std::int64_t step = 0;
  double seconds = 0;  ///< wall clock since the start of the run; a run that continues a saved one goes on from there
  /// Labels and scalars, in the order in which the labels were first logged in the step. A label that was logged several times has its last
  /// number. Labels are valid during the call only.
  std::vector<std::pair<std::string_view, Array>> values;

  /// The number of that label, or null.
  [[nodiscard]] const Array* value(std::string_view label) const {
    for (const auto& [known, array] : values)
      if (known == label) return &array;
    return nullptr;
  }
};

}  // namespace cleave
