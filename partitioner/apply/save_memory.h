// save_memory(): computes values again after the moment at which the accelerator's memory is fullest, or fetches them from the host,
// instead of keeping them until they are read. The numbers are solver/saved_values.h's. Each choice is tried: what counts is the peak of
// the program that it gives.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "partitioner/apply/changed_program.h"
#include "partitioner/apply/memory_fit.h"
#include "partitioner/apply/saved_memory.h"
#include "partitioner/apply/worked_out_plan.h"

namespace cleave::planner {

/// A program that fits.
struct SmallerProgram {
  ChangedProgram program;
  SavedMemory saved;
  std::vector<std::uint8_t> on_host, on_accelerator;  ///< the sides of the nodes of the program that was changed; empty: not known
};

/// The cheapest program found that fits into the accelerator's memory because values are computed again or kept on the host, with the sides
/// of operations chosen anew for that; nothing if none was found. `unlimited`
/// is the plan of `graph`, whose program does not fit.
std::optional<SmallerProgram> save_memory(const Graph& graph, const CostModel& model, const CostedProblem& costed,
                                          const WorkedOutPlan& unlimited, const FindPeak& find_peak, double memory_bytes);

}  // namespace cleave::planner
