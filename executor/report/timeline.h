// Timeline: what ran when, where, and what waited for what. Chrome/Perfetto trace events, and predicted beside measured times.
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
  /// One thing at a time happens in a device's lane; of `calls`, host functions beside the steps, there are several. Small values may
  /// cross in `steps`, by the device's own commands.
  enum class Lane : std::uint8_t { steps, to_accelerator, to_host, waits, calls } lane = Lane::steps;
  /// Computing: what the device was given as one, whose times by themselves nobody knows, `node` the last of them. Null: `node` by itself.
  std::shared_ptr<const std::vector<NodeId>> together = nullptr;
  int number = 0;  ///< of the lane, among those of its kind
};

/// RunResult::timeline, where RunOptions::timeline asked for it.
struct Timeline {
  std::vector<TimelineEvent> events;
  bool simulated = false;  ///< times are of the virtual clock
};

class Graph;

/// Told what ran, in batches, in place of keeping it all; by the threads that ran it, several at once.
using TimelineSink = std::function<void(std::span<const TimelineEvent>)>;

/// Chrome trace event format (chrome://tracing, ui.perfetto.dev): a track for each lane of a device.
[[nodiscard]] std::string to_chrome_trace(const Timeline& timeline, const Graph& graph);
Status write_chrome_trace(const Timeline& timeline, const Graph& graph, const std::string& path);

/// The same of a run under way: what it is told goes to the file, not into memory.
class ChromeTrace {
 public:
  /// The graph is to live as long.
  static Result<ChromeTrace> create(const std::string& path, const Graph& graph);
  ChromeTrace(ChromeTrace&&) noexcept;
  ChromeTrace& operator=(ChromeTrace&&) noexcept;
  ~ChromeTrace();

  void add(std::span<const TimelineEvent> events);  ///< from any thread
  /// Puts the file in its place, a whole document however the run ended; or says what went wrong on the way.
  Status finish(bool simulated);

 private:
  struct State;
  explicit ChromeTrace(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace cleave
