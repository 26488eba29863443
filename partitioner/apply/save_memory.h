// save_memory(): computes values again after the moment at which the accelerator's memory is fullest, instead of keeping them until they
// are read. The numbers are solver/saved_values.h's. Each choice is tried: what counts is the peak of the program that it gives.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "partitioner/apply/changed_program.h"
#include "partitioner/apply/memory_fit.h"
#include "partitioner/apply/worked_out_plan.h"

namespace cleave::planner {

/// The results of an operation that are read after the moment at which memory is fullest.
struct SavedValue {
  std::string name;
  SourceLocation location;
  bool again = false;  ///< computed again; else kept
  double bytes = 0;    ///< that it takes at that moment, or would take
  double seconds = 0;  ///< of computing it again, in a run; 0 if it is kept
};

/// What is kept and what is computed again for want of memory.
struct SavedMemory {
  std::vector<SavedValue> values;  ///< in program order
  double seconds = 0;              ///< of all that is computed again, in a run
  double bound_seconds = 0;        ///< no choice by which this moment fits takes less, with operations on the same sides
  double peak_bytes = 0;           ///< of the program in which nothing is computed again
};

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
