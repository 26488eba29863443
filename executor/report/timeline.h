// Timeline: the times of all operations, transfers and waits of a run, by device. Written as Chrome/Perfetto trace events, and as predicted
// beside measured times.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
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
  /// Events of one lane do not overlap; `calls`, concurrent calls of host functions, may have several lanes. Small values may be
  /// transferred in `steps`, by the device's own commands.
  enum class Lane : std::uint8_t { steps, to_accelerator, to_host, waits, calls } lane = Lane::steps;
  /// Computing: the nodes that the device ran as one command, whose single times are unknown, `node` the last of them. Null: `node` by
  /// itself.
  std::shared_ptr<const std::vector<NodeId>> together = nullptr;
  int number = 0;  ///< number of the lane, among those of its kind
};

/// The type of RunResult::timeline, which is filled if RunOptions::timeline asks for it.
struct Timeline {
  std::vector<TimelineEvent> events;
  bool simulated = false;  ///< times are those of the virtual clock
};

class Graph;

/// Receives events in batches instead of keeping them all. Called by the threads that ran them, concurrently.
using TimelineSink = std::function<void(std::span<const TimelineEvent>)>;

/// Chrome trace event format (chrome://tracing, ui.perfetto.dev): a track for each lane of a device.
[[nodiscard]] std::string to_chrome_trace(const Timeline& timeline, const Graph& graph);
Status write_chrome_trace(const Timeline& timeline, const Graph& graph, const std::string& path);

/// Writes the same format while a run is under way: events go to the file instead of memory.
class ChromeTrace {
 public:
  /// The graph must outlive the ChromeTrace.
  static Result<ChromeTrace> create(const std::string& path, const Graph& graph);
  ChromeTrace(ChromeTrace&&) noexcept;
  ChromeTrace& operator=(ChromeTrace&&) noexcept;
  ~ChromeTrace();

  void add(std::span<const TimelineEvent> events);  ///< from any thread
  /// Completes the document and moves the file to its path, however the run ended; an Error if writing failed at any time.
  Status finish(bool simulated);

 private:
  struct State;
  explicit ChromeTrace(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace cleave
