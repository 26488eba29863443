// The command line of cleave: reads the flags, hands over to one command, and sees that what it said arrived. Nothing else is decided here.
#pragma once

namespace cleave::cli {

/// Does what the words say, on the process's standard streams, and gives the exit code. `argv[argc]` is null, as for main().
int command_line(int argc, char** argv);

}  // namespace cleave::cli
