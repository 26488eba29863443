// Names the node that was being executed when a fault ends the process, most likely in a host function. Only for the command line; a
// library leaves signals to its user.
#pragma once

namespace cleave::cli {

/// Installs handlers for fault signals. The handler writes a line with the node and its location, then raises the signal again, so that the
/// process ends with the same signal.
void name_crashes();

}  // namespace cleave::cli
