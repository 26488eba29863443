// Prints the timeline of a page: each chart an SVG drawing with a row for host, accelerator and the two directions between them.
#pragma once

#include "partitioner/report/page/markup.h"
#include "partitioner/report/page/timeline.h"

namespace cleave::planner {

void write_charts(Markup& out, const Timeline& timeline);

}  // namespace cleave::planner
