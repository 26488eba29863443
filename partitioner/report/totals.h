// Totals: the figures that summarize a plan. Text, JSON and the summary of a run all show these.
#pragma once

#include <cstddef>

#include "partitioner/plan.h"

namespace cleave::planner {

struct Totals {
  std::size_t operations = 0, on_accelerator = 0;  ///< `on_accelerator`: operations with a copy there
  std::size_t transfers = 0, sends = 0;
  std::size_t round_trips = 0;                      ///< those to warn of
  double bytes = 0;                                 ///< transferred in a run
  double transfer_seconds = 0;                      ///< in a run, as if transfers were separate and one after the other
  std::size_t coalesced_transfers = 0, packed = 0;  ///< `packed`: transfers that are in coalesced transfers
  double saved_seconds = 0;                         ///< the part of `transfer_seconds` that coalesced transfers save
};

Totals totals(const Plan& plan);

}  // namespace cleave::planner
