#include "executor/simulated/fault_injector.h"

namespace cleave::runtime {

void FaultInjector::begin() {
  for (Origin& last : last_begun_) last = {};
}

Error FaultInjector::lost_error() {
  return {"the simulated accelerator is lost (injected)", {}, ErrorKind::machine};
}

Status FaultInjector::failure(Work work, std::int64_t number) {
  return Error{
      (work == Work::kernel ? "kernel " : "transfer ") + std::to_string(number) + " failed on the simulated accelerator (injected)",
      {},
      ErrorKind::machine};
}

std::int64_t FaultInjector::begun_by(Stream stream, const Origin& origin) {
  Origin& last = last_begun_[static_cast<std::size_t>(stream)];
  const bool goes_on = origin.position.size() > 0 && origin.node == last.node && origin.position == last.position;
  last = origin;
  return goes_on ? 0 : 1;
}

}  // namespace cleave::runtime
