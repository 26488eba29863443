#include "executor/device/run_state.h"

#include <algorithm>

#include "executor/device/awake.h"
#include "graph/base/exceptions.h"

namespace cleave::runtime {
namespace {

constexpr std::chrono::microseconds kAwake{100};  ///< longer than a thread takes to wake

}  // namespace

void RunState::fail(const Origin& origin, Error error) {
  Position position;
  const bool known = detail::guard_memory_or(
      [&] {
        position = origin.position;
        if (describe_ && origin.node.valid()) error = describe_(origin.node, error);
        return true;
      },
      [] { return false; });
  // Out of memory while recording the position: the whole run ends, and the error's position is lost.
  if (!known) return end(detail::out_of_memory());
  {
    std::lock_guard lock(mutex_);
    if (!error_ || position < failed_at_) {
      error_ = std::move(error);
      failed_at_ = std::move(position);
    }
    failed_.store(true, std::memory_order_release);
  }
  interrupt();
  progress();
  changed_.notify_all();
}

void RunState::end(const Error& error) {
  {
    std::lock_guard lock(mutex_);
    if (!error_) error_ = detail::guard_memory_or([&] { return error; }, [] { return detail::out_of_memory(); });
    failed_at_ = {};
    failed_.store(true, std::memory_order_release);
  }
  interrupt();
  progress();
  changed_.notify_all();
}

RunState::Interruptible::Interruptible(RunState& run, const Origin& origin) : run_(run), origin_(origin) {
  std::lock_guard lock(run_.mutex_);
  next_ = std::exchange(run_.interruptible_, this);
  told_ = run_.failed() && !(origin_.position < run_.failed_at_);
  if (told_) source_.request_stop();  // no thread waits yet
}

RunState::Interruptible::~Interruptible() {
  std::lock_guard lock(run_.mutex_);
  Interruptible** place = &run_.interruptible_;
  while (*place != this) place = &(*place)->next_;
  *place = next_;
}

void RunState::interrupt() {
  for (;;) {
    std::stop_source told(std::nostopstate);
    {
      const std::lock_guard lock(mutex_);
      Interruptible* each = interruptible_;
      while (each && (each->told_ || each->origin_.position < failed_at_)) each = each->next_;
      if (!each) return;
      each->told_ = true;
      told = each->source_;
    }
    told.request_stop();
  }
}

std::optional<NodeId> RunState::computing() const {
  {
    const std::lock_guard lock(mutex_);
    const Interruptible* first = interruptible_;
    for (const Interruptible* each = first; each; each = each->next_)
      if (each->origin_.position < first->origin_.position) first = each;
    if (first && first->origin_.node.valid()) return first->origin_.node;
  }
  const NodeId node = computing_.load(std::memory_order_relaxed);
  return node.valid() ? std::optional(node) : std::nullopt;
}

bool RunState::stops_known(const Position& at) const {
  std::lock_guard lock(mutex_);
  return !(at < failed_at_);
}

std::optional<Error> RunState::error() const {
  std::lock_guard lock(mutex_);
  return error_;
}

RunState::Waited RunState::wait(DeviceId who, const Origin& origin, const std::function<bool()>& ready,
                                std::optional<Clock::time_point> deadline) {
  std::unique_lock lock(mutex_);
  if (ready()) return Waited::ready;
  if (who.valid()) note_waiting(who, origin.node);
  Waited result = Waited::stopped;
  stay_awake(lock, progress_, kAwake, [&] { return ready() || failed(); });
  while (true) {
    if (ready()) {
      result = Waited::ready;
      break;
    }
    if (failed() && !(origin.position < failed_at_)) break;
    if (!deadline) {
      changed_.wait(lock);
    } else if (changed_.wait_until(lock, *deadline) == std::cv_status::timeout && !ready()) {
      result = Waited::late;
      break;
    }
  }
  if (who.valid()) forget_waiting(who);
  return result;
}

void RunState::set_waiting(DeviceId who, NodeId node) {
  std::lock_guard lock(mutex_);
  note_waiting(who, node);
}

void RunState::clear_waiting(DeviceId who) {
  std::lock_guard lock(mutex_);
  forget_waiting(who);
}

void RunState::note_waiting(DeviceId who, NodeId node) {
  const auto place = std::find_if(waiting_.begin(), waiting_.end(), [&](const auto& each) { return !(each.first < who); });
  if (place != waiting_.end() && place->first == who) {
    place->second = node;
  } else {
    waiting_.insert(place, {who, node});
  }
}

void RunState::forget_waiting(DeviceId who) {
  std::erase_if(waiting_, [&](const auto& each) { return each.first == who; });
}

std::vector<std::pair<DeviceId, NodeId>> RunState::waiting() const {
  std::lock_guard lock(mutex_);
  return waiting_;
}

}  // namespace cleave::runtime
