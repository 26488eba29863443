// The executable of the command line, which is implemented in tools/cli.
#include "tools/cli/command_line.h"

int main(int argc, char** argv) {
  return cleave::cli::command_line(argc, argv);
}
