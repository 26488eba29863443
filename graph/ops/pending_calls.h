// Calls of asynchronous host functions (HostFunction::begin) in two halves, for whoever has something else to do in between. The meaning of
// `host_call` is one behind the other.
#pragma once

#include <memory>

#include "graph/host_function.h"
#include "graph/op.h"

namespace cleave::ops {

/// Begins the call; takes the memory of its results.
Result<std::unique_ptr<PendingCall>> begin_host_call(const OpCall& call);
/// Waits until it is over, within the limits of the function and of the call's context; fills the call's results.
Status end_host_call(PendingCall& pending, const OpCall& call);

}  // namespace cleave::ops
