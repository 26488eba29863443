// Cancellation of kernels and reference implementations. A run installs a StopSign in each thread that works for it (`UnderSign`), and the
// work must poll it by `look_at_stop` at least every 20 ms. The worker pool (per piece) and the walk over strided arrays poll by
// themselves; a loop that uses neither must poll itself.
#pragma once

#include <cstdint>

namespace cleave {

/// Thrown by `look_at_stop` when the work is cancelled. The guard around kernels (`guard_user`) converts it to an Error.
struct Stopped {};

/// A cancellation flag, owned by the party that started the work.
class StopSign {
 public:
  StopSign() = default;
  StopSign(const StopSign&) = delete;
  StopSign& operator=(const StopSign&) = delete;
  /// Whether the work is cancelled. Called often, and from every thread that does the work.
  [[nodiscard]] virtual bool stopped() const = 0;

 protected:
  ~StopSign() = default;
};

namespace detail {
/// The flag of the calling thread's work; null: none.
inline constinit thread_local const StopSign* stop_sign = nullptr;
}  // namespace detail

/// Throws `Stopped` if the work of this thread is cancelled.
inline void look_at_stop() {
  if (detail::stop_sign && detail::stop_sign->stopped()) [[unlikely]]
    throw Stopped();
}

/// Scope in which this thread polls `sign`; null: none.
class UnderSign {
 public:
  explicit UnderSign(const StopSign* sign) : before_(detail::stop_sign) { detail::stop_sign = sign; }
  UnderSign(const UnderSign&) = delete;
  UnderSign& operator=(const UnderSign&) = delete;
  ~UnderSign() { detail::stop_sign = before_; }

 private:
  const StopSign* before_;
};

/// Polling for a loop with short iterations: once about every `kWork` elements.
class StopLooks {
 public:
  static constexpr std::int64_t kWork = 1 << 14;
  /// Reports the number of elements processed since the last call.
  void worked(std::int64_t elements = 1) {
    if ((since_ += elements) < kWork) return;
    since_ = 0;
    look_at_stop();
  }

 private:
  std::int64_t since_ = 0;
};

/// Calls `body(begin, end)` for consecutive parts of `count` elements, and polls before each.
template <class Body>
void each_with_looks(std::int64_t count, const Body& body, std::int64_t grain = StopLooks::kWork) {
  for (std::int64_t begin = 0; begin < count; begin += grain) {
    look_at_stop();
    body(begin, count - begin < grain ? count : begin + grain);
  }
}

}  // namespace cleave
