// Names the node that was at work when the process is ended by a fault: a host function's, most likely. Of the command line only; a library
// leaves signals to its user.
#pragma once

namespace cleave::cli {

/// Catches the signals of faults from now on. One that comes writes a line with the node and its place, and is raised again, so that the
/// process ends by it as it would have.
void name_crashes();

}  // namespace cleave::cli
