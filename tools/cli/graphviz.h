// Graphviz, run as a program of its own: a plan becomes a picture in memory. It has a deadline, and does not outlive it, nor us.
#pragma once

#include <string>

#include "graph/base/result.h"
#include "partitioner/compile.h"
#include "partitioner/report/explain.h"

namespace cleave::cli {

inline constexpr double kLayoutSeconds = 30;

struct Drawing {
  std::string bytes;
  std::string remark;  ///< that it is coarser than asked for, and why; else empty
};

/// The picture of a plan as `format` (svg, png, pdf). What Graphviz does not lay out within `seconds` is drawn with fewer nodes. An Error
/// (machine) where there is no Graphviz, or nothing can be drawn.
Result<Drawing> draw(const Plan& plan, const planner::PictureOptions& options, const std::string& format, double seconds = kLayoutSeconds);

/// Ends what draw() has started. For the handler of a signal that ends the process, and safe there.
void end_graphviz() noexcept;

}  // namespace cleave::cli
