#include "executor/run/transport/transport.h"

#include <cstring>
#include <utility>

namespace cleave::runtime {

Transport::Transport(std::vector<TransferredValue> values) : values_(std::move(values)) {
  for (const TransferredValue& each : values_) seconds_ += each.seconds;
}

void Transport::count(CommandQueue& queue, Stream stream) {
  for (const TransferredValue& each : values_) {
    ++moved_.count;
    moved_.bytes += each.bytes;
  }
  queue.show(values_, stream);
}

void Transport::pack(const HostStorage& from, std::byte* to) const {
  for (const TransferredValue& each : values_) {
    const std::byte* const data = from.of(each.value);
    if (each.bytes > 0 && data != to + each.offset) std::memcpy(to + each.offset, data, static_cast<std::size_t>(each.bytes));
  }
}

void Transport::unpack(const HostStorage& to, const std::byte* from) const {
  for (const TransferredValue& each : values_)
    if (each.bytes > 0) std::memcpy(to.of(each.value), from + each.offset, static_cast<std::size_t>(each.bytes));
}

}  // namespace cleave::runtime
