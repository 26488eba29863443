// Prints the timeline of a page: each chart is an SVG drawing with rows for the host, the accelerator and both directions between them.
#pragma once

#include "partitioner/report/markup.h"
#include "partitioner/report/page/timeline.h"

namespace cleave::planner {

void write_charts(Markup& out, const Timeline& timeline);

}  // namespace cleave::planner
