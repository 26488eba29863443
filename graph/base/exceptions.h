// Guards that convert exceptions to Errors. cleave itself throws nothing; the standard library throws when memory runs out, and functions
// of the user may throw.
//
// Internal code does not handle exhausted memory. A guard stands at each public function, around each executed step of a run (so that the
// Error names the user's line), and at the top of each thread. It converts the exception to an Error there.
#pragma once

#include <cstdint>
#include <new>
#include <stdexcept>
#include <string_view>
#include <type_traits>
#include <utility>

#include "graph/base/result.h"

namespace cleave::detail {

/// An allocation of a known size failed.
struct OutOfMemory : std::bad_alloc {
  explicit OutOfMemory(std::int64_t b) : bytes(b) {}
  std::int64_t bytes;
};

/// The Error of a failed allocation; creating it allocates nothing.
inline Error out_of_memory() {
  return {"out of memory", {}, ErrorKind::machine};
}
/// The same with the size, if it is known and there is memory for the message.
Error out_of_memory(const std::bad_alloc& thrown);

/// The result of `work`, or that of `otherwise` if memory runs out.
template <class F, class G>
std::invoke_result_t<F&> guard_memory_or(F&& work, G&& otherwise) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return otherwise();
  } catch (const std::length_error&) {  // the requested size exceeds any memory
    return otherwise();
  }
}

/// The result of `work` (a Result or a Status), or an Error if memory runs out.
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

/// Must be called in a `catch (...)`: converts an exception of the user's function `who` to an Error: "`on_output` threw: disk full".
/// Stopped work (graph/base/stop.h) gives an Error of its own.
Error thrown_by(std::string_view who);

/// The Status of `work`, which calls a user's function, or an Error for an exception that it throws.
template <class F>
Status guard_user(std::string_view who, F&& work) {
  try {
    return work();
  } catch (...) {
    return thrown_by(who);
  }
}

}  // namespace cleave::detail
