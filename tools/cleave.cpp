// The command line of cleave: reads the flags and hands over to one command. Nothing is decided here.
#include <cstdio>

#include "tools/cli/options.h"
#include "tools/cli/session.h"

int main(int argc, char** argv) {
  using namespace cleave::cli;
  Options options;
  if (const auto exit = parse(argc, argv, options)) {
    std::fputs(exit->text.c_str(), exit->code == kDone ? stdout : stderr);
    return exit->code;
  }
  switch (options.command) {
    case Command::run: return run_command(options);
    case Command::explain: return explain_command(options);
    case Command::check: return check_command(options);
    case Command::dot: return dot_command(options);
    case Command::print: return print_command(options);
    case Command::plan: return plan_command(options);
    case Command::devices: return devices_command(options);
  }
}
