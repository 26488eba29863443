#include "executor/report/timeline.h"

#include <mutex>

#include "graph/base/device_name.h"
#include "graph/base/exceptions.h"
#include "graph/base/json_writer.h"
#include "graph/base/output_file.h"
#include "graph/graph.h"

namespace cleave {
namespace {

constexpr std::size_t kBlock = 1 << 16;  ///< bytes written at once

std::string_view to_string(TimelineEvent::What what) {
  switch (what) {
    case TimelineEvent::What::compute: return "compute";
    case TimelineEvent::What::transfer: return "transfer";
    case TimelineEvent::What::wait: return "wait";
  }
  return "";
}

/// Names by track number. Events of one track never overlap. The tracks of calls follow after these.
constexpr const char* kLanes[] = {"steps", "to accelerator", "to host", "waits"};

/// Appends the document piece by piece to a text.
class TraceText {
 public:
  explicit TraceText(const Graph& graph) : graph_(graph) {}

  static void begin(std::string& out) { out += R"({"displayTimeUnit":"ns","traceEvents":[)"; }

  void event(std::string& out, const TimelineEvent& event) {
    for (; devices_ <= event.device.index; ++devices_) name_device(out, DeviceId(std::size_t{devices_}));
    if (event.lane == TimelineEvent::Lane::calls)
      for (; calls_ <= event.number; ++calls_)
        name(out, event.device, "thread_name", static_cast<int>(event.lane) + calls_, "calls " + std::to_string(calls_ + 1));
    JsonWriter json = item(out);
    json.object([&] {
      json.field("name", name(event));
      json.field("cat", to_string(event.what));
      json.field("ph", "X");
      json.field("ts", event.start_seconds * 1e6);
      json.field("dur", (event.end_seconds - event.start_seconds) * 1e6);
      json.field("pid", event.device.index);
      json.field("tid", static_cast<int>(event.lane) + event.number);
      json.object("args", [&] {
        if (event.node.valid()) {
          json.field("op", graph_.op_name(event.node));
          json.field("location", cleave::to_string(graph_.nodes[event.node].location));
        }
        if (event.bytes > 0) json.field("bytes", event.bytes);
        if (!event.together) return;
        json.list("together", [&] {
          for (const NodeId node : *event.together)
            json.value(graph_.display_name(node) + " at " + cleave::to_string(graph_.nodes[node].location));
        });
      });
    });
  }

  static void end(std::string& out, bool simulated) {
    out += "\n],\"otherData\":{\"simulated\":";
    out += simulated ? "true}}\n" : "false}}\n";
  }

 private:
  /// Begins an item on a line of its own.
  JsonWriter item(std::string& out) {
    out += first_ ? "\n" : ",\n";
    first_ = false;
    return JsonWriter(out);
  }

  [[nodiscard]] std::string name(const TimelineEvent& event) const {
    if (!event.node.valid()) return "run";
    const std::string last = graph_.display_name(event.node);
    if (!event.together || event.together->size() < 2) return last;
    return graph_.display_name(event.together->front()) + " … " + last + " (" + std::to_string(event.together->size()) + ")";
  }

  void name_device(std::string& out, DeviceId device) {
    name(out, device, "process_name", 0, to_string(device));
    int thread = 0;
    for (const char* each : kLanes) name(out, device, "thread_name", thread++, each);
  }
  void name(std::string& out, DeviceId device, const char* kind, int thread, const std::string& text) {
    JsonWriter json = item(out);
    json.object([&] {
      json.field("name", kind);
      json.field("ph", "M");
      json.field("pid", device.index);
      json.field("tid", thread);
      json.object("args", [&] { json.field("name", text); });
    });
  }

  const Graph& graph_;
  std::uint32_t devices_ = 0;  ///< number of devices that have a name
  int calls_ = 0;              ///< number of lanes of calls that have a name; all are the host's
  bool first_ = true;
};

}  // namespace

std::string to_chrome_trace(const Timeline& timeline, const Graph& graph) {
  std::string text;
  TraceText::begin(text);
  TraceText trace(graph);
  for (const TimelineEvent& event : timeline.events) trace.event(text, event);
  TraceText::end(text, timeline.simulated);
  return text;
}

Status write_chrome_trace(const Timeline& timeline, const Graph& graph, const std::string& path) {
  Result<ChromeTrace> trace = ChromeTrace::create(path, graph);
  if (!trace) return trace.error();
  trace->add(timeline.events);
  return trace->finish(timeline.simulated);
}

struct ChromeTrace::State {
  OutputFile file;
  TraceText trace;
  std::mutex mutex;
  std::string text;  ///< not written to the file yet
  Status written;    ///< the first failure

  State(OutputFile to, const Graph& graph) : file(std::move(to)), trace(graph) { TraceText::begin(text); }

  void write() {
    if (written) written = file.write(text);
    text.clear();
  }
};

ChromeTrace::ChromeTrace(std::unique_ptr<State> state) : state_(std::move(state)) {}
ChromeTrace::ChromeTrace(ChromeTrace&&) noexcept = default;
ChromeTrace& ChromeTrace::operator=(ChromeTrace&&) noexcept = default;
ChromeTrace::~ChromeTrace() = default;

Result<ChromeTrace> ChromeTrace::create(const std::string& path, const Graph& graph) {
  return detail::guard_memory([&]() -> Result<ChromeTrace> {
    Result<OutputFile> file = OutputFile::create(path);
    if (!file) return file.error();
    return ChromeTrace(std::make_unique<State>(*std::move(file), graph));
  });
}

void ChromeTrace::add(std::span<const TimelineEvent> events) {
  const std::lock_guard lock(state_->mutex);
  const Status added = detail::guard_memory([&] {
    for (const TimelineEvent& event : events) {
      state_->trace.event(state_->text, event);
      if (state_->text.size() >= kBlock) state_->write();
    }
    return Status();
  });
  if (!added) state_->written = added;  // after a missing piece, later pieces would not form a document
}

Status ChromeTrace::finish(bool simulated) {
  const std::lock_guard lock(state_->mutex);
  return detail::guard_memory([&] {
    TraceText::end(state_->text, simulated);
    state_->write();
    return state_->written ? state_->file.commit() : state_->written;
  });
}

}  // namespace cleave
