// Runs library routines that cannot poll the stop sign on a thread of their own, which can be left behind. Its one door is run_isolated.
#pragma once

#include <functional>

namespace cleave::runtime::host {

/// Runs `work` and returns, or rethrows the exception of `work`. If the calling thread works under a stop sign (graph/base/stop.h), `work`
/// runs on a thread of its own while the caller polls the sign. After a stop that thread continues detached, so `work` must own all memory
/// that it touches. The process does not exit before such threads have finished.
void run_isolated(std::function<void()> work);

}  // namespace cleave::runtime::host
