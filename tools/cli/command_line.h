// The command line of cleave: parses the flags, calls one command, and checks that its output was written. Contains nothing else.
#pragma once

namespace cleave::cli {

/// Executes the command line on the process's standard streams, and returns the exit code. `argv[argc]` is null, as for main().
int command_line(int argc, char** argv);

}  // namespace cleave::cli
