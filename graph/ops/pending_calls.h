// Calls of asynchronous host functions (HostFunction::begin) in two halves, so that the caller can do other work in between. The reference
// implementation of `host_call` runs both in sequence.
#pragma once

#include <memory>

#include "graph/host_function.h"
#include "graph/op.h"

namespace cleave::ops {

/// Starts the call; takes over the memory of its results.
Result<std::unique_ptr<PendingCall>> begin_host_call(const OpCall& call);
/// Waits until the call is complete, within the limits of the function and of the call's context, and fills its results.
Status end_host_call(PendingCall& pending, const OpCall& call);

}  // namespace cleave::ops
