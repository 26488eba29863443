// Action: a function that is called later, stored in place: its captures are copied as bytes, and nothing is allocated.
#pragma once

#include <cstddef>
#include <cstring>
#include <type_traits>

#include "executor/runtime.h"
#include "graph/base/result.h"

namespace cleave::runtime {

class Action {
 public:
  Action() = default;
  template <class F>
  requires(std::is_invocable_r_v<Status, F&>) Action(const F& function)  // NOLINT(google-explicit-constructor): as std::function
      : call_([](std::byte* captured) -> Status { return (*reinterpret_cast<F*>(captured))(); }) {
    static_assert(std::is_trivially_copyable_v<F> && sizeof(F) <= kMostBytes && alignof(F) <= alignof(std::max_align_t));
    std::memcpy(captured_, &function, sizeof(F));
  }
  explicit operator bool() const { return call_; }
  Status operator()() { return call_(captured_); }

 private:
  static constexpr std::size_t kMostBytes = 64;
  alignas(std::max_align_t) std::byte captured_[kMostBytes] = {};
  Status (*call_)(std::byte* captured) = nullptr;
};

}  // namespace cleave::runtime
