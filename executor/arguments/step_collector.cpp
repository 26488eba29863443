#include "executor/arguments/step_collector.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "graph/base/boundary.h"
#include "graph/base/exceptions.h"
#include "graph/base/stop.h"
#include "graph/metrics.h"
#include "graph/trace/save_points.h"

namespace cleave::runtime {

StepCollector::StepCollector(const Graph& graph)
    : loops_(logging_loops(graph)), labels_(labels_inside(graph, loops_)), continued_(continued_loop(graph)) {}

void StepCollector::begin(const RunOptions& options) {
  options_ = &options;
  start_ = std::chrono::steady_clock::now();
  step_ = options.position ? options.position->step : options.first_step;
  repeats_ = options.position.has_value();
  in_trip_ = own_step_ = false;
  current_ = {};
  nan_.reset();
  told_ = {};
}

bool StepCollector::logs(NodeId loop) const {
  return std::find(loops_.begin(), loops_.end(), loop) != loops_.end();
}

void StepCollector::next_trip(bool begins) {
  if (in_trip_ || own_step_) {
    hand_over();
    ++step_;
  }
  in_trip_ = begins;
  own_step_ = false;
}

Status StepCollector::log(std::string_view label, const Array& value) {
  if (!told_) return told_;
  if (repeats_) return {};
  if (!in_trip_ && std::find(labels_.begin(), labels_.end(), label) != labels_.end()) own_step_ = true;
  if (options_->on_log) {
    const auto known = std::find_if(current_.values.begin(), current_.values.end(), [&](const auto& each) { return each.first == label; });
    Array copy(value.type());
    std::copy_n(value.bytes(), value.type().bytes(), copy.mutable_bytes());
    if (known == current_.values.end())
      current_.values.emplace_back(label, std::move(copy));
    else
      known->second = std::move(copy);
  }
  if (!options_->stop_on_nan || !std::isnan(value.at(0))) return {};
  nan_ = {label, "`" + std::string(label) + "` is NaN in step " + std::to_string(step_)};
  return Error{nan_->text, {}, ErrorKind::user};
}

void StepCollector::hand_over() {
  if (current_.values.empty()) return;
  current_.step = step_;
  current_.seconds = seconds();
  const LoggedStep step = std::exchange(current_, {});
  if (!told_) return;
  told_ = detail::guard_user("`on_log`", [&]() -> Status {
    const UnderSign none(nullptr);  // the listener's own use of cleave is not stopped
    call_foreign("`on_log`", {}, [&] { options_->on_log(step); });
    return {};
  });
}

double StepCollector::seconds() const {
  const double before = options_->position ? options_->position->seconds : 0;
  return before + std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

SavedPosition StepCollector::mark() {
  hand_over();
  return {0, step_ + (in_trip_ || own_step_ ? 1 : 0), seconds()};
}

Status StepCollector::finish() {
  const bool behind_loops = !in_trip_ && !current_.values.empty();
  hand_over();
  if (behind_loops) ++step_;
  return told_;
}

}  // namespace cleave::runtime
