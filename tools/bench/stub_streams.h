// StubStreams: the streams of a GPU that computes nothing but keeps time and order. Commands wait in queues, one a stream; one thread does
// them: copies copy, events are recorded and waited for, words in memory too. It is light, so that what it takes of the processor can be
// told from what the executor takes.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

namespace cleave::bench {

/// How long things take on the stub. All zero: everything happens at once, and no clock is read.
struct StubTraits {
  double launch_seconds = 0;         ///< of each kernel, whatever it is
  double link_latency_seconds = 0;   ///< of each copy, and of each kernel that hands a value over
  double link_bytes_per_second = 0;  ///< each way; 0: no limit
  bool waits_for_words = true;       ///< whether a stream can wait for a word in memory
};

struct StubEvent {
  std::uint32_t recorded = 0;  ///< versions
  std::atomic<std::uint32_t> done = 0;
  double time = 0;  ///< when it was done
  [[nodiscard]] bool over() const { return done.load(std::memory_order_acquire) >= recorded; }
};

struct StubCommand {
  enum class Kind : std::uint8_t { work, record, wait_for_event, wait_for_word };
  Kind kind = Kind::work;
  double seconds = 0, enqueued = 0;
  std::byte* to = nullptr;  ///< work: bytes are copied, if any
  const std::byte* from = nullptr;
  std::size_t bytes = 0;
  std::uint64_t* note = nullptr;  ///< work: then `command` is written here
  std::uint64_t command = 0;
  std::uint64_t* word = nullptr;  ///< work: then `number` is written here; wait_for_word: until it is `number` or more
  std::uint64_t number = 0;
  StubEvent* event = nullptr;
  std::uint32_t version = 0;
};

class StubStreams {
 public:
  /// One stream. Commands come from any thread.
  class Lane;

  explicit StubStreams(const StubTraits& traits);
  StubStreams(const StubStreams&) = delete;
  StubStreams& operator=(const StubStreams&) = delete;
  ~StubStreams();

  /// Null: there are too many.
  Lane* open();
  /// Waits until it is empty.
  void close(Lane& lane);
  void put(Lane& lane, StubCommand command);
  void record(Lane& lane, StubEvent& event);
  void wait(Lane& lane, StubEvent& event);

  /// How long a copy takes.
  [[nodiscard]] double copy_seconds(std::size_t bytes) const;
  /// What the thread has taken of the processor, and which one it is.
  [[nodiscard]] double processor_seconds() const;
  [[nodiscard]] int thread() const { return number_; }
  /// How long each open stream has been busy, in the order in which they were opened.
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
  std::atomic<int> number_ = 0;  ///< the thread's, as the system has it
  double next_ = 0;              ///< when the first command in progress will be done, as far as the thread knows
  std::thread thread_;
};

/// What a thread of this process, by the system's number, has taken of the processor.
double processor_seconds_of(int thread);

}  // namespace cleave::bench
