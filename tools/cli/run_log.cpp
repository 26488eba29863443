#include "tools/cli/run_log.h"

#include <algorithm>
#include <utility>

#include "graph/base/number_text.h"
#include "graph/metrics.h"
#include "tools/cli/terminal.h"

namespace cleave::cli {
std::string transfers_of_step(const Plan& plan) {
  const Graph& graph = *plan.graph;
  NodeId loop;
  for (const NodeId id : graph.regions[Graph::kRoot].nodes) {
    const Node& node = graph.nodes[id];
    if (node.kind != NodeKind::for_loop && node.kind != NodeKind::while_loop) continue;
    if (!loop.valid() || node.expected > graph.nodes[loop].expected) loop = id;
  }
  if (!loop.valid() || graph.nodes[loop].expected <= 0) return "";
  double count = 0;
  for (const auto& transfer : plan.transfers.items)
    if (transfer.region != Graph::kRoot && graph.within(transfer.region, graph.nodes[loop].regions[0]))
      count += transfer.frequency / graph.nodes[loop].expected;
  const std::string number = general_text(count, 3);
  return ", " + number + (number == "1" ? " transfer a step" : " transfers a step");
}

Result<std::unique_ptr<RunLog>> RunLog::create(const Options& options, const Plan& plan, const std::optional<SavedPosition>& position) {
  std::unique_ptr<RunLog> log(new RunLog(shows_progress(options)));
  const std::optional<std::int64_t> from = position ? std::optional(position->step) : std::nullopt;
  if (!options.log.empty()) {
    Result<LogCsv> csv = LogCsv::create(options.log, logged_labels(*plan.graph), from);
    if (!csv) return csv.error();
    log->csv_.emplace(*std::move(csv));
  }
  if (!options.tensorboard.empty()) {
    Result<EventFile> events = EventFile::create(options.tensorboard, from);
    if (!events) return events.error();
    log->events_.emplace(*std::move(events));
  }
  return log;
}

Status RunLog::write(const LoggedStep& step) {
  if (Status written = csv_ ? csv_->add(step) : Status(); !written) return written;
  return events_ ? events_->add(step) : Status();
}

bool RunLog::add(const LoggedStep& logged) {
  LoggedStep step = logged;
  step.seconds += seconds_before_;
  if (written_) written_ = write(step);
  if (!shown_) return written_.ok();
  std::string text;
  for (const auto& [label, value] : step.values)
    text += ", " + std::string(label) + " " + general_text(value.at(0), is_integer(value.dtype()) ? 19 : 4);
  const std::lock_guard lock(mutex_);
  last_ = std::move(text);
  return written_.ok();
}

std::string RunLog::text() const {
  const std::lock_guard lock(mutex_);
  return last_;
}

}  // namespace cleave::cli
