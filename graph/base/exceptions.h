// Exceptions as Errors. cleave throws nothing itself; the standard library does where memory ends, and functions of the user do.
//
// Inside, code is written as if memory never ended. A guard stands at each public door, around each step that a run walks (so that the
// Error names the user's line), and in each thread, as nobody stands above it. What is thrown becomes an Error there and goes no further.
#pragma once

#include <cstdint>
#include <new>
#include <stdexcept>
#include <string_view>
#include <type_traits>
#include <utility>

#include "graph/base/result.h"

namespace cleave::detail {

/// Memory of a known size could not be had.
struct OutOfMemory : std::bad_alloc {
  explicit OutOfMemory(std::int64_t b) : bytes(b) {}
  std::int64_t bytes;
};

/// Takes no memory itself.
inline Error out_of_memory() {
  return {"out of memory", {}, ErrorKind::machine};
}
/// With the size, if it is known and there is memory to say it.
Error out_of_memory(const std::bad_alloc& thrown);

/// What `work` gives; what `otherwise` gives where memory has ended.
template <class F, class G>
std::invoke_result_t<F&> guard_memory_or(F&& work, G&& otherwise) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return otherwise();
  } catch (const std::length_error&) {  // a size that no memory has
    return otherwise();
  }
}

/// What `work` gives, a Result or a Status, or the Error.
template <class F>
std::invoke_result_t<F&> guard_memory(F&& work) {
  try {
    return work();
  } catch (const std::bad_alloc& thrown) {
    return out_of_memory(thrown);
  } catch (const std::length_error&) {
    return out_of_memory();
  }
}

/// To be called in a `catch (...)`: what a function of the user's threw, by `who`, as an Error: "`on_output` threw: disk full". Work that
/// was stopped (graph/base/stop.h) is an Error of its own.
Error thrown_by(std::string_view who);

/// What `work` gives, a Status, which calls a function of the user's; or what that throws, as an Error.
template <class F>
Status guard_user(std::string_view who, F&& work) {
  try {
    return work();
  } catch (...) {
    return thrown_by(who);
  }
}

}  // namespace cleave::detail
