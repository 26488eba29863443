// Stop: how kernels and reference implementations notice that nobody wants their results any more. A run puts a StopSign over the threads
// that work for it (`UnderSign`); the work calls `look_at_stop` at least every 20 ms. The pieces of a worker pool and the walk of strided
// arrays look by themselves; a loop that uses neither has looks of its own.
#pragma once

#include <cstdint>

namespace cleave {

/// Thrown by `look_at_stop` where work is no longer wanted. The guard around kernels (`guard_user`) makes an Error of it.
struct Stopped {};

/// Whoever ordered the work of a thread.
class StopSign {
 public:
  StopSign() = default;
  StopSign(const StopSign&) = delete;
  StopSign& operator=(const StopSign&) = delete;
  /// Whether the results are not wanted any more. Called from every thread that does the work, often.
  [[nodiscard]] virtual bool stopped() const = 0;

 protected:
  ~StopSign() = default;
};

namespace detail {
/// The sign that this thread works under; null: none.
inline constinit thread_local const StopSign* stop_sign = nullptr;
}  // namespace detail

/// The work of this thread ends here, by `Stopped`, if it is no longer wanted.
inline void look_at_stop() {
  if (detail::stop_sign && detail::stop_sign->stopped()) [[unlikely]]
    throw Stopped();
}

/// While this lives, its thread works under `sign`; null: under none.
class UnderSign {
 public:
  explicit UnderSign(const StopSign* sign) : before_(detail::stop_sign) { detail::stop_sign = sign; }
  UnderSign(const UnderSign&) = delete;
  UnderSign& operator=(const UnderSign&) = delete;
  ~UnderSign() { detail::stop_sign = before_; }

 private:
  const StopSign* before_;
};

/// The looks of a loop whose turns are short: one look for about every `kWork` elements.
class StopLooks {
 public:
  static constexpr std::int64_t kWork = 1 << 14;
  /// As many elements have been worked on since the last call.
  void worked(std::int64_t elements = 1) {
    if ((since_ += elements) < kWork) return;
    since_ = 0;
    look_at_stop();
  }

 private:
  std::int64_t since_ = 0;
};

/// `body(begin, end)` for neighbouring parts of `count` elements, with a look before each.
template <class Body>
void each_with_looks(std::int64_t count, const Body& body, std::int64_t grain = StopLooks::kWork) {
  for (std::int64_t begin = 0; begin < count; begin += grain) {
    look_at_stop();
    body(begin, count - begin < grain ? count : begin + grain);
  }
}

}  // namespace cleave
