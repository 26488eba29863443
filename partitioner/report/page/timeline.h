// The timeline of a page as plain values: one chart for the run and one for an iteration of each loop, with bars on a scale from 0 to 1.
// Pieces too narrow to be seen are merged into slots with a utilization, so a chart has at most some hundred bars however long the program.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "partitioner/apply/schedule_trace.h"
#include "partitioner/report/page/source_view.h"

namespace cleave::planner {

struct TimelineBar {
  double begin = 0, end = 0;  ///< fractions of the chart's width
  double share = 1;           ///< fraction of this time at work
  bool waits = false, inner = false;
  std::string label;  ///< for inside the bar, where there is room
  std::string title;  ///< the full description
  std::string link;   ///< an id; empty: no link
};

struct TimelineLane {
  std::string_view name, side;  ///< `side`: host, accelerator or transfers
  double busy_seconds = 0;
  std::vector<TimelineBar> bars;
};

struct TimelineMark {
  double at = 0;  ///< fraction of the chart's width
  std::string label;
};

struct TimelineChart {
  std::string id, title, about;
  std::vector<TimelineLane> lanes;
  std::vector<TimelineMark> marks;
};

struct Timeline {
  std::vector<TimelineChart> charts;  ///< the run first; none if nothing takes time
  std::size_t left_out = 0;           ///< number of loops and arms not shown; all are shorter than those shown
};

/// `prefix` is put before the charts' ids.
Timeline timeline(const Plan& plan, const ScheduleTrace& trace, const SourceView& source, const std::string& prefix);

}  // namespace cleave::planner
