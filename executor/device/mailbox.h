// Mailbox: two words in page-locked memory by which the host and a device hand each other a channel's values, generation by generation.
// Each says in its own word how many generations it has sent or taken, and waits for the other's: the device by itself, so that its
// commands are enqueued long before the host has got that far, and the host by looking. Nobody enqueues anything, and no thread is woken,
// when a value crosses.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace cleave::runtime {

class Mailbox {
 public:
  static constexpr std::int64_t kBytes = 128;  ///< of the words: a line of the cache each
  /// Values above it are worth a copy by the device's copy engine.
  static constexpr std::int64_t kMostBytes = 64 << 10;

  /// `words`: kBytes of page-locked memory.
  explicit Mailbox(void* words) : host_(static_cast<std::uint64_t*>(words)), device_(host_ + kBytes / 2 / sizeof(std::uint64_t)) {}

  [[nodiscard]] const std::uint64_t* host_word() const { return host_; }
  [[nodiscard]] std::uint64_t* device_word() const { return device_; }

  /// Before a run, while the device is idle.
  void reset() const {
    std::atomic_ref(*host_).store(0, std::memory_order_relaxed);
    std::atomic_ref(*device_).store(0, std::memory_order_relaxed);
  }
  /// The host is done with generation `number`, counted from one: with each in turn.
  void tell(std::uint64_t number) const {
    std::uint64_t before = number - 1;  // else it is `released`
    std::atomic_ref(*host_).compare_exchange_strong(before, number, std::memory_order_release, std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t told() const { return std::atomic_ref(*host_).load(std::memory_order_acquire); }
  /// What the device has said of itself. What it had written before can be read.
  [[nodiscard]] std::uint64_t heard() const { return std::atomic_ref(*device_).load(std::memory_order_acquire); }
  /// The device waits for the host no longer, whatever number it waits for: of a run whose values nobody wants any more.
  void release() const { std::atomic_ref(*host_).store(INT64_MAX, std::memory_order_release); }

 private:
  std::uint64_t* host_;
  std::uint64_t* device_;
};

/// One generation's place in page-locked memory.
struct MailboxSlot {
  std::byte* data = nullptr;
  /// The device's number of the command that put a value here: whether what it was made of was sound.
  std::uint64_t* command = nullptr;
};

/// One generation on its way: the device waits until the host has told `after`, and says `number`.
struct Delivery {
  MailboxSlot slot;
  Mailbox mailbox;
  std::uint64_t number = 0;
  std::uint64_t after = 0;
};

}  // namespace cleave::runtime
