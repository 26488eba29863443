// The command line of cleave: reads the flags, hands over to one command, and sees that what it said arrived. Nothing else is decided here.
#include <fcntl.h>

#include <cstdio>

#include "tools/cli/options.h"
#include "tools/cli/session.h"

namespace {

using namespace cleave::cli;

/// A stream that the caller closed would lend its number to the next file that is opened, and what is printed would end up there.
void keep_standard_streams() {
  for (int stream = 0; stream <= 2; ++stream)
    if (::fcntl(stream, F_GETFD) < 0) (void)::open("/dev/null", O_RDONLY);
}

int run(const Options& options) {
  switch (options.command) {
    case Command::run: return run_command(options);
    case Command::explain: return explain_command(options);
    case Command::check: return check_command(options);
    case Command::dot: return dot_command(options);
    case Command::print: return print_command(options);
    case Command::plan: return plan_command(options);
    case Command::devices: return devices_command(options);
    case Command::calibrate: return calibrate_command(options);
    case Command::completion: return completion_command(options);
  }
  return kUsageError;
}

}  // namespace

int main(int argc, char** argv) {
  keep_standard_streams();
  Options options;
  int code = kDone;
  if (const auto exit = parse(argc, argv, options)) {
    std::fputs(exit->text.c_str(), exit->code == kDone ? stdout : stderr);
    code = exit->code;
  } else {
    code = run(options);
  }
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
  std::fputs("error: cannot write to standard output\n", stderr);
  return code == kDone ? kUserError : code;
}
