// Apart: work that cannot look whether it is still wanted, a routine of a library, on a thread that can be left behind.
#pragma once

#include <functional>

namespace cleave::runtime::host {

/// Does `work` and returns, or throws what it throws. Where this thread works under a stop sign (graph/base/stop.h), `work` runs on a
/// thread of its own, and this one looks at the sign meanwhile: if it is stopped, the other thread goes on by itself, so `work` must own
/// all that it touches. The process does not end before such a thread has.
void run_apart(std::function<void()> work);

}  // namespace cleave::runtime::host
