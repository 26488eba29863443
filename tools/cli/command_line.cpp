#include "tools/cli/command_line.h"

#include <fcntl.h>

#include <csignal>
#include <cstdio>

#include "graph/base/exceptions.h"
#include "graph/base/output_file.h"
#include "tools/cli/graphviz.h"
#include "tools/cli/options.h"
#include "tools/cli/session.h"

namespace cleave::cli {
namespace {

/// Opens standard streams that the caller closed: otherwise the next file opened would get such a stream's number and receive its output.
void keep_standard_streams() {
  for (int stream = 0; stream <= 2; ++stream)
    if (::fcntl(stream, F_GETFD) < 0) (void)::open("/dev/null", O_RDONLY);
}

/// Removes unfinished files and ends Graphviz when a signal ends this process. Signals that the caller ignores (nohup) stay ignored.
void clean_up_on_signals() {
  struct sigaction action = {}, before = {};
  action.sa_handler = [](int signal) {
    remove_unfinished_files();
    end_graphviz();
    (void)::raise(signal);  // ends this process now
  };
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_NODEFER);
  for (const int signal : {SIGHUP, SIGINT, SIGTERM})
    if (::sigaction(signal, nullptr, &before) == 0 && before.sa_handler == SIG_DFL) ::sigaction(signal, &action, nullptr);
}

int run(const Options& options) {
  switch (options.command) {
    case Command::run: return run_command(options);
    case Command::compile: return compile_command(options);
    case Command::explain: return explain_command(options);
    case Command::check: return check_command(options);
    case Command::apply: return apply_command(options);
    case Command::dot: return dot_command(options);
    case Command::print: return print_command(options);
    case Command::plan: return plan_command(options);
    case Command::devices: return devices_command(options);
    case Command::calibrate: return calibrate_command(options);
    case Command::completion: return completion_command(options);
  }
  return kUsageError;
}

int read_and_run(int argc, char** argv, Options& options) {
  const auto exit = parse(argc, argv, options);
  if (!exit) return run(options);
  std::fputs(exit->text.c_str(), exit->code == kDone ? stdout : stderr);
  return exit->code;
}

/// Reports that memory ran out. All memory taken before has been released by now; if even these few words do not fit, a constant text is
/// printed.
int without_memory(const Options& options) {
  const auto printed = [] {
    std::fputs("error: out of memory\n", stderr);
    return kMachineError;
  };
  return detail::guard_memory_or([&] { return Console(options).fail(detail::out_of_memory()); }, printed);
}

}  // namespace

int command_line(int argc, char** argv) {
  keep_standard_streams();
  clean_up_on_signals();
  Options options;
  const int code = detail::guard_memory_or([&] { return read_and_run(argc, argv, options); }, [&] { return without_memory(options); });
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
  std::fputs("error: cannot write to standard output\n", stderr);
  return code == kDone ? kUserError : code;
}

}  // namespace cleave::cli
