// Totals: the few numbers that stand for a whole plan. Text, JSON and the summary of a run say the same ones.
#pragma once

#include <cstddef>

#include "partitioner/compile.h"

namespace cleave::planner {

struct Totals {
  std::size_t operations = 0, on_accelerator = 0;  ///< the second: have a copy there
  std::size_t transfers = 0, sends = 0;
  std::size_t round_trips = 0;          ///< to be warned of
  double bytes = 0;                     ///< moved in a run
  double transfer_seconds = 0;          ///< of a run, one after the other, each by itself
  std::size_t packets = 0, packed = 0;  ///< the second: transfers that travel in them
  double saved_seconds = 0;             ///< by that, of `transfer_seconds`
};

Totals totals(const Plan& plan);

}  // namespace cleave::planner
