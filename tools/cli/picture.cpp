// `cleave dot`: the partition as Graphviz source, or rendered by the `dot` program.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "graph/base/file.h"
#include "partitioner/report/explain.h"
#include "tools/cli/session.h"

namespace cleave::cli {
namespace {

/// Runs `dot -Tformat -o path source`; the picture replaces `path` only once it is whole.
Status render(const std::string& source, const std::string& format, const std::string& path) {
  const std::string partial = path + "." + std::to_string(getpid()) + ".tmp", input = partial + ".dot";
  if (!write_file(input, {source})) return Error{"cannot write `" + path + "`: its folder takes no files", {}, ErrorKind::user};
  const std::string type = "-T" + format;
  const char* arguments[] = {"dot", type.c_str(), "-o", partial.c_str(), input.c_str(), nullptr};
  pid_t child = 0;
  const int failure = posix_spawnp(&child, "dot", nullptr, nullptr, const_cast<char* const*>(arguments), environ);
  int status = -1;
  if (failure == 0)
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
  std::remove(input.c_str());
  if (failure != 0 || (WIFEXITED(status) && WEXITSTATUS(status) == 127))
    return Error{"cannot run Graphviz (`dot`): install the package graphviz, or write a .dot file", {}, ErrorKind::machine};
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    std::remove(partial.c_str());
    return Error{"Graphviz could not draw `" + path + "`", {}, ErrorKind::machine};
  }
  if (std::rename(partial.c_str(), path.c_str()) != 0) {
    const std::string reason = std::strerror(errno);
    std::remove(partial.c_str());
    return Error{"cannot write `" + path + "`: " + reason, {}, ErrorKind::user};
  }
  return {};
}

}  // namespace

int dot_command(const Options& options) {
  const Console console(options);
  const std::size_t point = options.output_file.rfind('.');
  const std::string extension = point == std::string::npos ? "" : options.output_file.substr(point + 1);
  if (!options.output_file.empty() && extension != "svg" && extension != "png" && extension != "pdf" && extension != "dot")
    return console.fail(
        Error{"-o " + options.output_file + ": expected a file that ends in .svg, .png, .pdf or .dot", {}, ErrorKind::usage});
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
