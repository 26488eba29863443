// The timeline of a page: a chart for the run and one for a trip of each loop, as plain values: bars on a scale from 0 to 1. What is too
// narrow to be seen becomes slots that say how busy they are, so that a chart has at most some hundred bars, however long the program.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "partitioner/apply/schedule_trace.h"
#include "partitioner/report/page/source_view.h"

namespace cleave::planner {

struct TimelineBar {
  double begin = 0, end = 0;  ///< parts of the chart
  double share = 1;           ///< of this time at work
  bool waits = false, inner = false;
  std::string label;  ///< for inside the bar, where there is room
  std::string title;  ///< the whole truth
  std::string link;   ///< an id; empty: none
};

struct TimelineLane {
  std::string_view name, side;  ///< `side`: host, accelerator or transfers
  double busy_seconds = 0;
  std::vector<TimelineBar> bars;
};

struct TimelineMark {
  double at = 0;  ///< part of the chart
  std::string label;
};

struct TimelineChart {
  std::string id, title, about;
  std::vector<TimelineLane> lanes;
  std::vector<TimelineMark> marks;
};

struct Timeline {
  std::vector<TimelineChart> charts;  ///< the run first; none where nothing takes time
  std::size_t left_out = 0;           ///< loops and arms that are not shown, shorter than all that are
};

/// `prefix` of the charts' ids.
Timeline timeline(const Plan& plan, const ScheduleTrace& trace, const SourceView& source, const std::string& prefix);

}  // namespace cleave::planner
