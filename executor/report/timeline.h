// Timeline: what ran when, where, and what waited for what. Chrome/Perfetto trace events, and predicted beside measured times.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph/base/id.h"
#include "graph/base/result.h"

namespace cleave {

struct TimelineEvent {
  enum class What : std::uint8_t { compute, transfer, wait } what = What::compute;
  DeviceId device;
  NodeId node;               ///< the graph node, or the producer of the value that moves
  double start_seconds = 0;  ///< from the start of the run
  double end_seconds = 0;
  std::int64_t bytes = 0;  ///< transfers
};

/// RunResult::timeline, where RunOptions::timeline asked for it.
struct Timeline {
  std::vector<TimelineEvent> events;
  bool simulated = false;  ///< times are of the virtual clock
};

class Graph;

/// Chrome trace event format (chrome://tracing, ui.perfetto.dev): a track a device for steps, one for transfers and one for waits.
[[nodiscard]] std::string to_chrome_trace(const Timeline& timeline, const Graph& graph);
Status write_chrome_trace(const Timeline& timeline, const Graph& graph, const std::string& path);

}  // namespace cleave
