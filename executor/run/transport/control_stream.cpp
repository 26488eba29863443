#include "executor/run/transport/control_stream.h"

namespace cleave::runtime {

bool ControlStream::put(RunState& run, DeviceId who, const Origin& origin, Decision decision) {
  if (run.wait(who, origin, [&] { return decisions_.size() < kCapacity; }) != RunState::Waited::ready) return false;
  run.update([&] { decisions_.push_back(decision); });
  return true;
}

std::optional<ControlStream::Decision> ControlStream::take(RunState& run, DeviceId who, const Origin& origin) {
  if (run.wait(who, origin, [&] { return !decisions_.empty(); }) != RunState::Waited::ready) return std::nullopt;
  Decision decision;
  run.update([&] {
    decision = decisions_.front();
    decisions_.pop_front();
  });
  return decision;
}

}  // namespace cleave::runtime
