#include "executor/simulated/trap.h"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <mutex>

#include "executor/device/step_mark.h"
#include "graph/base/check.h"
#include "graph/base/fault_handler.h"
#include "graph/base/forks.h"

namespace cleave::runtime {
namespace {

// A signal handler can access static data only.
struct Slot {
  std::atomic<std::uintptr_t> begin = 0, end = 0;
};
std::array<Slot, 256> slots;
/// Guards the slots.
std::mutex& slots_mutex() {
  static auto* const mutex = new PerProcess<std::mutex>;
  return **mutex;
}

void write_text(std::string_view text) {
  while (!text.empty()) {
    ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
    if (written <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

void write_number(int number) {
  char digits[12];
  std::size_t at = sizeof digits;
  do {
    digits[--at] = static_cast<char>('0' + number % 10);
    number /= 10;
  } while (number > 0 && at > 0);
  write_text({digits + at, sizeof digits - at});
}

void report() {
  const StepMark::MarkedStep& place = StepMark::current();
  if (place.graph && place.node.valid()) {
    const Node& node = place.graph->nodes[place.node];
    write_text(node.location.file_name());
    write_text(":");
    write_number(node.location.line);
    write_text(": ");
    write_text(place.graph->op_name(place.node));
    write_text(": ");
  }
  write_text("internal error: the host touched accelerator memory (a transfer is missing)\n");
}

bool stop_at_trap(std::uintptr_t address) {
  for (const Slot& slot : slots) {
    if (address < slot.begin.load() || slot.end.load() <= address) continue;
    report();
    std::abort();
  }
  return false;
}

}  // namespace

TrappedRange::TrappedRange(const void* begin, std::size_t bytes) {
  FaultHandler<SIGSEGV, stop_at_trap>::install();
  const std::lock_guard lock(slots_mutex());
  auto address = reinterpret_cast<std::uintptr_t>(begin);
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (slots[i].end.load() != 0) continue;
    slots[i].begin = address;
    slots[i].end = address + bytes;
    slot_ = static_cast<int>(i);
    return;
  }
}

TrappedRange::~TrappedRange() {
  if (slot_ < 0) return;
  const std::lock_guard lock(slots_mutex());
  slots[static_cast<std::size_t>(slot_)].end = 0;
  slots[static_cast<std::size_t>(slot_)].begin = 0;
}

}  // namespace cleave::runtime
