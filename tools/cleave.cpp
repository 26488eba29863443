// The command line as a program of its own; tools/cli has all of it.
#include "tools/cli/command_line.h"

int main(int argc, char** argv) {
  return cleave::cli::command_line(argc, argv);
}
