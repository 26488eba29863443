#include "tools/bench/stub_streams.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>

namespace cleave::bench {
namespace {

constexpr std::uint64_t kRoom = 4096;  ///< commands of a stream; a thread that enqueues one more waits

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

class StubStreams::Lane {
 public:
  std::vector<StubCommand> room{kRoom};
  std::atomic<bool> open = false;
  std::atomic_flag putting;                        ///< held by the thread that enqueues a command
  alignas(64) std::atomic<std::uint64_t> put = 0;  ///< commands so far
  alignas(64) std::atomic<std::uint64_t> done = 0;
  // Used only by the stub's thread, except `busy`:
  bool begun = false;  ///< the first command is in progress
  double free = 0;     ///< completion time of that command
  std::atomic<double> busy = 0;
};

StubStreams::StubStreams(const StubTraits& traits)
    : traits_(traits), timed_(traits.launch_seconds > 0 || traits.link_latency_seconds > 0 || traits.link_bytes_per_second > 0) {
  for (std::unique_ptr<Lane>& lane : lanes_) lane = std::make_unique<Lane>();
  thread_ = std::thread([this] {
    number_ = gettid();
    number_.notify_one();
    work();
  });
  number_.wait(0);
}

StubStreams::~StubStreams() {
  over_ = true;
  thread_.join();
}

StubStreams::Lane* StubStreams::open() {
  for (const std::unique_ptr<Lane>& lane : lanes_)
    if (!lane->open.exchange(true)) return lane.get();
  return nullptr;
}

void StubStreams::close(Lane& lane) {
  while (lane.done.load(std::memory_order_acquire) != lane.put.load(std::memory_order_relaxed)) std::this_thread::yield();
  lane.busy = 0;
  lane.open = false;
}

void StubStreams::put(Lane& lane, StubCommand command) {
  if (timed_) command.enqueued = now();
  while (lane.putting.test_and_set(std::memory_order_acquire)) relax();
  const std::uint64_t place = lane.put.load(std::memory_order_relaxed);
  while (place - lane.done.load(std::memory_order_acquire) >= kRoom) std::this_thread::yield();
  lane.room[place % kRoom] = command;
  lane.put.store(place + 1, std::memory_order_release);
  lane.putting.clear(std::memory_order_release);
}

void StubStreams::record(Lane& lane, StubEvent& event) {
  StubCommand command;
  command.kind = StubCommand::Kind::record;
  command.event = &event;
  command.version = ++event.recorded;
  put(lane, command);
}

void StubStreams::wait(Lane& lane, StubEvent& event) {
  StubCommand command;
  command.kind = StubCommand::Kind::wait_for_event;
  command.event = &event;
  command.version = event.recorded;
  put(lane, command);
}

double StubStreams::copy_seconds(std::size_t bytes) const {
  const double moving = traits_.link_bytes_per_second > 0 ? static_cast<double>(bytes) / traits_.link_bytes_per_second : 0;
  return traits_.link_latency_seconds + moving;
}

double StubStreams::processor_seconds() const {
  return processor_seconds_of(number_);
}

double processor_seconds_of(int thread) {
  timespec time{};
  const auto clock = static_cast<clockid_t>((~static_cast<unsigned>(thread) << 3) | 6);  // clock_getcpuclockid(3), of a thread
  if (clock_gettime(clock, &time) != 0) return 0;
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

std::vector<double> StubStreams::busy_seconds() const {
  std::vector<double> seconds;
  for (const std::unique_ptr<Lane>& lane : lanes_)
    if (lane->open) seconds.push_back(lane->busy);
  return seconds;
}

void StubStreams::work() {
  for (int turns = 0; !over_.load(std::memory_order_relaxed);) {
    next_ = std::numeric_limits<double>::infinity();
    bool moved = false;
    for (const std::unique_ptr<Lane>& lane : lanes_) moved |= advance(*lane);
    turns = moved ? 0 : turns + 1;
    if (!moved) rest(turns);
  }
}

/// Spins while a command may come at any moment; sleeps if no command ends soon, or if none has come for long.
void StubStreams::rest(int turns) const {
  constexpr int kAttentive = 100, kAwake = 5000;
  constexpr double kSleep = 50e-6, kLong = 4 * kSleep;
  if (turns < kAttentive) return relax();
  const bool far = next_ < std::numeric_limits<double>::infinity() && next_ - now() > kLong;
  if (far || turns > kAwake) return std::this_thread::sleep_for(std::chrono::duration<double>(kSleep));
  std::this_thread::yield();
}

/// Executes all commands that can be completed now; false if there are none.
bool StubStreams::advance(Lane& lane) {
  std::uint64_t done = lane.done.load(std::memory_order_relaxed);
  const std::uint64_t first = done, put = lane.put.load(std::memory_order_acquire);
  for (; done != put; ++done, lane.done.store(done, std::memory_order_release)) {
    StubCommand& command = lane.room[done % kRoom];
    const bool for_word = command.kind == StubCommand::Kind::wait_for_word, for_event = command.kind == StubCommand::Kind::wait_for_event;
    if (for_word && std::atomic_ref(*command.word).load(std::memory_order_acquire) < command.number) break;
    if (for_event && command.event->done.load(std::memory_order_acquire) < command.version) break;
    if (timed_ && !lane.begun) {
      lane.begun = true;
      lane.free = std::max(lane.free, for_word ? now() : for_event ? command.event->time : command.enqueued) + command.seconds;
      lane.busy.store(lane.busy.load(std::memory_order_relaxed) + command.seconds, std::memory_order_relaxed);
    }
    if (timed_ && command.seconds > 0 && now() < lane.free) {
      next_ = std::min(next_, lane.free);
      break;
    }
    lane.begun = false;
    finish(lane, command);
  }
  return done != first;
}

void StubStreams::finish(Lane& lane, StubCommand& command) const {
  if (command.kind == StubCommand::Kind::record) {
    command.event->time = lane.free;
    command.event->done.store(command.version, std::memory_order_release);
    command.event->done.notify_all();
  }
  if (command.kind != StubCommand::Kind::work) return;
  if (command.bytes > 0) std::memmove(command.to, command.from, command.bytes);
  if (command.note) *command.note = command.command;
  if (command.word) std::atomic_ref(*command.word).store(command.number, std::memory_order_release);
}

}  // namespace cleave::bench
