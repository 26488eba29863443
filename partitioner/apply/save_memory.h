// save_memory(): computes values again after the moment at which the accelerator's memory is fullest, instead of keeping them until they
// are read. The numbers are solver/saved_values.h's. Each choice is tried: what counts is the peak of the program that it gives.
#pragma once

#include <optional>

#include "partitioner/apply/changed_program.h"
#include "partitioner/apply/memory_fit.h"
#include "partitioner/apply/saved_memory.h"
#include "partitioner/apply/worked_out_plan.h"

namespace cleave::planner {

/// A program that fits.
struct SmallerProgram {
  ChangedProgram program;
  SavedMemory saved;
};

/// The cheapest program found that fits into the accelerator's memory with nothing but repetitions; nothing if none was found. `unlimited`
/// is the plan of `graph`, whose program does not fit.
std::optional<SmallerProgram> save_memory(const Graph& graph, const CostModel& model, const CostedProblem& costed,
                                          const WorkedOutPlan& unlimited, const FindPeak& find_peak, double memory_bytes);

}  // namespace cleave::planner
