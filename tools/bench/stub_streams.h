// StubStreams: streams of a GPU that computes nothing but keeps time and order. Commands wait in one queue for each stream, and one thread
// executes them: copies are made, events and words in memory are written and waited for. The thread is light, so that its processor time
// can be told from the executor's.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

namespace cleave::bench {

/// Durations on the stub. If all are zero, every command completes at once and no clock is read.
struct StubTraits {
  double launch_seconds = 0;         ///< every kernel
  double link_latency_seconds = 0;   ///< every copy, and every kernel that hands a value over
  double link_bytes_per_second = 0;  ///< each way; 0: no limit
  bool waits_for_words = true;       ///< whether a stream can wait for a word in memory
};

struct StubEvent {
  std::uint32_t recorded = 0;  ///< versions
  std::atomic<std::uint32_t> done = 0;
  double time = 0;  ///< time of completion
  [[nodiscard]] bool over() const { return done.load(std::memory_order_acquire) >= recorded; }
};

struct StubCommand {
  enum class Kind : std::uint8_t { work, record, wait_for_event, wait_for_word };
  Kind kind = Kind::work;
  double seconds = 0, enqueued = 0;
  std::byte* to = nullptr;  ///< work: copies `bytes` bytes, if any
  const std::byte* from = nullptr;
  std::size_t bytes = 0;
  std::uint64_t* note = nullptr;  ///< work: `command` is then written here
  std::uint64_t command = 0;
  std::uint64_t* word = nullptr;  ///< work: `number` is then written here; wait_for_word: waits until the word is `number` or more
  std::uint64_t number = 0;
  StubEvent* event = nullptr;
  std::uint32_t version = 0;
};

class StubStreams {
 public:
  /// One stream. Any thread may enqueue commands.
  class Lane;

  explicit StubStreams(const StubTraits& traits);
  StubStreams(const StubStreams&) = delete;
  StubStreams& operator=(const StubStreams&) = delete;
  ~StubStreams();

  /// Null if too many streams are open.
  Lane* open();
  /// Waits until the stream is empty.
  void close(Lane& lane);
  void put(Lane& lane, StubCommand command);
  void record(Lane& lane, StubEvent& event);
  void wait(Lane& lane, StubEvent& event);

  /// The duration of a copy.
  [[nodiscard]] double copy_seconds(std::size_t bytes) const;
  /// The processor time of the stub's thread, and the thread's number.
  [[nodiscard]] double processor_seconds() const;
  [[nodiscard]] int thread() const { return number_; }
  /// The busy time of each open stream, in the order in which they were opened.
  [[nodiscard]] std::vector<double> busy_seconds() const;

 private:
  static constexpr std::size_t kLanes = 16;
  void work();
  bool advance(Lane& lane);
  void finish(Lane& lane, StubCommand& command) const;
  void rest(int turns) const;

  const StubTraits traits_;
  const bool timed_;
  std::array<std::unique_ptr<Lane>, kLanes> lanes_;
  std::atomic<bool> over_ = false;
  std::atomic<int> number_ = 0;  ///< the thread's number in the system
  double next_ = 0;              ///< completion time of the first command in progress, as far as the thread knows
  std::thread thread_;
};

/// Processor time of a thread of this process, by its number in the system.
double processor_seconds_of(int thread);

}  // namespace cleave::bench
