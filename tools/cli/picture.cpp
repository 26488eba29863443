// `cleave dot`: the partition as Graphviz source, or rendered by the `dot` program.
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>

#include "graph/base/file.h"
#include "graph/base/output_file.h"
#include "partitioner/report/explain.h"
#include "tools/cli/session.h"

namespace cleave::cli {
namespace {

/// A file descriptor from which `text` can be read, or -1.
int readable(std::string_view text) {
  const int file = ::memfd_create("cleave", MFD_CLOEXEC);
  while (file >= 0 && !text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) break;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  if (file >= 0 && text.empty() && ::lseek(file, 0, SEEK_SET) == 0) return file;
  if (file >= 0) ::close(file);
  return -1;
}

/// The exit status of `dot -Tformat`, which reads from `source` and writes to `picture`; nothing if it cannot be run.
std::optional<int> run_graphviz(const std::string& format, int source, int picture) {
  const std::string type = "-T" + format;
  const char* arguments[] = {"dot", type.c_str(), nullptr};
  posix_spawn_file_actions_t streams;
  if (posix_spawn_file_actions_init(&streams) != 0) return std::nullopt;
  posix_spawn_file_actions_adddup2(&streams, source, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&streams, picture, STDOUT_FILENO);
  pid_t child = 0;
  const int failure = posix_spawnp(&child, "dot", &streams, nullptr, const_cast<char* const*>(arguments), environ);
  posix_spawn_file_actions_destroy(&streams);
  if (failure != 0) return std::nullopt;
  int status = -1;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 127) return std::nullopt;
  return status;
}

/// The picture replaces `path` only once it is whole.
Status render(const std::string& source, const std::string& format, const std::string& path) {
  Result<OutputFile> picture = OutputFile::create(path);
  if (!picture) return picture.error();
  const int input = readable(source);
  if (input < 0) return Error{"cannot pass the program to Graphviz: " + std::string(std::strerror(errno)), {}, ErrorKind::machine};
  const std::optional<int> status = run_graphviz(format, input, picture->descriptor());
  ::close(input);
  if (!status) return Error{"cannot run Graphviz (`dot`): install the package graphviz, or write a .dot file", {}, ErrorKind::machine};
  if (!WIFEXITED(*status) || WEXITSTATUS(*status) != 0) return Error{"Graphviz could not draw `" + path + "`", {}, ErrorKind::machine};
  return picture->commit();
}

}  // namespace

int dot_command(const Options& options) {
  const Console console(options);
  const std::size_t point = options.output_file.rfind('.');
  const std::string extension = point == std::string::npos ? "" : options.output_file.substr(point + 1);
  if (!options.output_file.empty() && extension != "svg" && extension != "png" && extension != "pdf" && extension != "dot")
    return console.fail(
        Error{"-o " + options.output_file + ": expected a file that ends in .svg, .png, .pdf or .dot", {}, ErrorKind::usage});
  if (Status writable = check_output_files(options); !writable) return console.fail(writable.error());
  int code = kDone;
  const auto plan = load_and_plan(options, console, code);
  if (!plan) return code;
  if (!plan->ok() && plan->program.graph == nullptr) return console.fail(plan->diagnostics);
  const std::string source = dot(*plan);
  if (!options.output_file.empty()) {
    const Status done = extension == "dot" ? write_file(options.output_file, {source}) : render(source, extension, options.output_file);
    if (!done) return console.fail(done.error());
    if (options.json) console.document("file", options.output_file, plan->diagnostics);
  } else if (options.json) {
    console.document("dot", source, plan->diagnostics);
  } else {
    console.out(source);
  }
  return kDone;
}

}  // namespace cleave::cli
