#include "tools/cli/time_limit.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "executor/arguments/bindings.h"
#include "graph/base/exceptions.h"
#include "graph/base/units.h"

namespace cleave::cli {
namespace {

constexpr double kGrace = 1;        ///< seconds that the run has to stop after it was told to
constexpr double kLongest = 1e9;    ///< seconds; no clock counts up to the largest double
constexpr double kNextTry = 0.001;  ///< seconds between attempts to stop, in case no run is active

}  // namespace

Result<std::unique_ptr<TimeLimit>> TimeLimit::start(double seconds, runtime::Executor& executor, const Graph& graph,
                                                    const Console& console) {
  std::unique_ptr<TimeLimit> limit(new TimeLimit(seconds, executor, graph, console));
  Result<Thread> thread = Thread::start([l = limit.get()] { l->watch(); });
  if (!thread) return thread.error();
  limit->thread_ = *std::move(thread);
  return limit;
}

TimeLimit::~TimeLimit() {
  {
    const std::lock_guard lock(mutex_);
    done_ = true;
  }
  changed_.notify_all();
}

bool TimeLimit::done_in(double seconds) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, std::chrono::duration<double>(std::min(seconds, kLongest)), [this] { return done_; });
}

Error TimeLimit::over(const std::string& more) const {
  const Error error{"the time limit of " + format_seconds(seconds_) + " (`--time-limit`) is over" + more, {}, ErrorKind::machine};
  const std::optional<NodeId> node = executor_.computing();
  return node ? runtime::at_node(graph_, *node, error) : error;
}

void TimeLimit::leave_if_over(int code) {
  {
    const std::lock_guard lock(mutex_);
    if (!over_) return;
  }
  std::fflush(nullptr);
  std::_Exit(code);
}

void TimeLimit::watch() {
  if (done_in(seconds_)) return;
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  const Error why = detail::guard_memory_or([this] { return over(""); }, [] { return detail::out_of_memory(); });
  while (!executor_.end(why))
    if (done_in(kNextTry)) return;
  if (done_in(kGrace)) return;
  const int code = detail::guard_memory_or([this] { return give_up(); }, [] { return kMachineError; });
  std::fflush(nullptr);
  std::_Exit(code);
}

int TimeLimit::give_up() const {
  const std::optional<NodeId> node = executor_.computing();
  const HostFunction* function = node ? graph_.nodes[*node].host_function() : nullptr;
  const std::string what = function ? "the host function `" + function->name + "`" : node ? "this operation" : "the accelerator";
  return console_.fail(over(", and " + what + " does not come back"));
}

}  // namespace cleave::cli
