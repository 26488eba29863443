// Draws a plan by running Graphviz as a child process, with a deadline. The child outlives neither the deadline nor this process.
#pragma once

#include <string>

#include "graph/base/result.h"
#include "partitioner/compile.h"
#include "partitioner/report/explain.h"

namespace cleave::cli {

inline constexpr double kLayoutSeconds = 30;

struct Drawing {
  std::string bytes;
  std::string remark;  ///< says that the picture is coarser than requested or not by Graphviz, and why; else empty
};

/// The picture of a plan in `format` (svg, png, pdf). If Graphviz does not finish the layout within `seconds`, the picture is drawn with
/// fewer nodes. Without Graphviz, or if it draws nothing, an svg has cleave's own layout, and other formats are an Error (machine).
Result<Drawing> draw(const Plan& plan, const planner::PictureOptions& options, const std::string& format, double seconds = kLayoutSeconds);

/// The same by Graphviz alone; an Error (machine) says why there is no picture.
Result<Drawing> draw_by_graphviz(const Plan& plan, const planner::PictureOptions& options, const std::string& format, double seconds);

/// Ends the Graphviz process that draw() started. For a signal handler that ends this process; async-signal-safe.
void end_graphviz() noexcept;

}  // namespace cleave::cli
