// segment_loops(): divides loops whose gradients need more than the accelerator's memory into segments (graph/gradient/loop_segments.h),
// and chooses how many trips a segment has. What counts is the peak of the program that a choice gives.
#pragma once

#include <optional>

#include "partitioner/apply/save_memory.h"

namespace cleave::planner {

/// A program with divided loops that fits, if need be with other values computed again, too; nothing if none was found. `unlimited` is the
/// plan of `graph`, whose program does not fit.
std::optional<SmallerProgram> segment_loops(const Graph& graph, const CostModel& model, const CostedProblem& costed,
                                            const WorkedOutPlan& unlimited, const FindPeak& find_peak, double memory_bytes);

}  // namespace cleave::planner
