// Mailbox: two words in page-locked memory by which the host and a device synchronize the values of a channel, generation by generation.
// Each side writes to its own word how many generations it has sent or taken, and waits for the other's word: the device by itself, so that
// its commands are enqueued long before the host reaches the value, and the host by polling. The transfer of a value enqueues no command
// and wakes no thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace cleave::runtime {

class Mailbox {
 public:
  static constexpr std::int64_t kBytes = 128;  ///< of the words: one cache line each
  /// Larger values are worth a copy by the device's copy engine.
  static constexpr std::int64_t kMostBytes = 64 << 10;

  /// `words`: kBytes of page-locked memory.
  explicit Mailbox(void* words) : host_(static_cast<std::uint64_t*>(words)), device_(host_ + kBytes / 2 / sizeof(std::uint64_t)) {}

  [[nodiscard]] const std::uint64_t* host_word() const { return host_; }
  [[nodiscard]] std::uint64_t* device_word() const { return device_; }

  /// Must be called before a run, while the device is idle.
  void reset() const {
    std::atomic_ref(*host_).store(0, std::memory_order_relaxed);
    std::atomic_ref(*device_).store(0, std::memory_order_relaxed);
  }
  /// The host announces that it is done with generation `number`, counted from one. Generations must be announced in order.
  void tell(std::uint64_t number) const {
    std::uint64_t before = number - 1;  // else it is `released`
    std::atomic_ref(*host_).compare_exchange_strong(before, number, std::memory_order_release, std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t told() const { return std::atomic_ref(*host_).load(std::memory_order_acquire); }
  /// The number that the device has announced. Data that the device wrote before it can be read.
  [[nodiscard]] std::uint64_t heard() const { return std::atomic_ref(*device_).load(std::memory_order_acquire); }
  /// Ends every wait of the device for the host, whatever number it waits for; used when a run is aborted, whose values are no longer
  /// needed.
  void release() const { std::atomic_ref(*host_).store(INT64_MAX, std::memory_order_release); }

 private:
  std::uint64_t* host_;
  std::uint64_t* device_;
};

/// The buffer of one generation in page-locked memory.
struct MailboxSlot {
  std::byte* data = nullptr;
  /// The device's number of the command that wrote the value, from which the host finds out whether the value is poisoned.
  std::uint64_t* command = nullptr;
};

/// The transfer of one generation: the device waits until the host has announced `after`, and then announces `number`.
struct Delivery {
  MailboxSlot slot;
  Mailbox mailbox;
  std::uint64_t number = 0;
  std::uint64_t after = 0;
};

}  // namespace cleave::runtime
