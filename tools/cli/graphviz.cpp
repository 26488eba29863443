// The time of a layout cannot be predicted: some pictures of 500 nodes take minutes. So each layout has a deadline, after which a picture
// with fewer nodes is tried.
#include "tools/cli/graphviz.h"

#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <optional>

#include "graph/base/units.h"

namespace cleave::cli {
namespace {

/// The process group of the running Graphviz, for end_graphviz(); 0: none.
std::atomic<pid_t> running{0};
static_assert(std::atomic<pid_t>::is_always_lock_free, "the handler of a signal reads it");

/// A file in memory.
class MemoryFile {
 public:
  MemoryFile() : file_(::memfd_create("cleave", MFD_CLOEXEC)) {}
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile() {
    if (file_ >= 0) ::close(file_);
  }

  [[nodiscard]] int descriptor() const { return file_; }
  /// Writes all of `text`, to be read from the start; false on failure.
  bool put(std::string_view text) const {
    while (file_ >= 0 && !text.empty()) {
      const ssize_t written = ::write(file_, text.data(), text.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return false;
      text.remove_prefix(static_cast<std::size_t>(written));
    }
    return file_ >= 0 && ::lseek(file_, 0, SEEK_SET) == 0;
  }
  /// The whole contents, or nothing if they cannot be read.
  [[nodiscard]] std::optional<std::string> get() const {
    const off_t size = file_ < 0 ? -1 : ::lseek(file_, 0, SEEK_END);
    if (size < 0) return std::nullopt;
    std::string text(static_cast<std::size_t>(size), '\0');
    for (std::size_t at = 0; at < text.size();) {
      const ssize_t got = ::pread(file_, text.data() + at, text.size() - at, static_cast<off_t>(at));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return std::nullopt;
      at += static_cast<std::size_t>(got);
    }
    return text;
  }

 private:
  int file_;
};

/// Starts `dot -Tformat` in its own process group, so that its children end with it; nothing if it cannot be run.
std::optional<pid_t> start(const std::string& format, int source, int picture) {
  const std::string type = "-T" + format;
  const char* arguments[] = {"dot", type.c_str(), nullptr};
  posix_spawn_file_actions_t streams;
  if (posix_spawn_file_actions_init(&streams) != 0) return std::nullopt;
  posix_spawn_file_actions_adddup2(&streams, source, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&streams, picture, STDOUT_FILENO);
  posix_spawnattr_t attributes;
  pid_t child = 0;
  int failure = posix_spawnattr_init(&attributes);
  if (failure == 0) {
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    posix_spawnattr_setpgroup(&attributes, 0);
    failure = posix_spawnp(&child, "dot", &streams, &attributes, const_cast<char* const*>(arguments), environ);
    posix_spawnattr_destroy(&attributes);
  }
  posix_spawn_file_actions_destroy(&streams);
  if (failure != 0) return std::nullopt;
  return child;
}

enum class Layout : std::uint8_t { done, failed, missing, late };

/// Waits for the process; after `seconds`, ends it and its children.
Layout wait_for(pid_t child, double seconds) {
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  constexpr long kShortest = 1'000'000, kLongest = 20'000'000;  // nanoseconds between two polls
  int status = 0;
  bool late = false;
  for (long pause = kShortest;; pause = std::min(2 * pause, kLongest)) {
    const pid_t ended = ::waitpid(child, &status, WNOHANG);
    if (ended == child || (ended < 0 && errno != EINTR)) break;
    if (!late && Clock::now() >= deadline) {
      late = true;
      ::kill(-child, SIGKILL);
    }
    const timespec time{0, pause};
    ::nanosleep(&time, nullptr);
  }
  if (late) return Layout::late;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 127) return Layout::missing;
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? Layout::done : Layout::failed;
}

Layout lay_out(const std::string& format, const MemoryFile& source, const MemoryFile& picture, double seconds) {
  const std::optional<pid_t> child = start(format, source.descriptor(), picture.descriptor());
  if (!child) return Layout::missing;
  running = *child;
  // Limits the child's processor time, in case this process is killed by a signal that it cannot catch.
  const auto most = static_cast<rlim_t>(std::ceil(seconds)) + 1;
  const rlimit cpu{most, most};
  (void)::prlimit(*child, RLIMIT_CPU, &cpu, nullptr);
  const Layout layout = wait_for(*child, seconds);
  running = 0;
  return layout;
}

}  // namespace

Result<Drawing> draw_by_graphviz(const Plan& plan, const planner::PictureOptions& options, const std::string& format, double seconds) {
  constexpr std::size_t kFewer[] = {0, 60, 25, 10};  // 0: the default for the program
  std::string tried;
  planner::PictureOptions detail = options;
  for (std::size_t next = 0;; ++next) {
    const std::string source = planner::dot(plan, detail);
    if (source != tried) {
      const MemoryFile input, picture;
      if (!input.put(source) || picture.descriptor() < 0)
        return Error{"cannot pass the program to Graphviz: " + std::string(std::strerror(errno)), {}, ErrorKind::machine};
      // Each retry with less detail has less time, so that all together take at most twice `seconds`.
      switch (lay_out(format, input, picture, tried.empty() ? seconds : seconds / std::size(kFewer))) {
        case Layout::missing: return Error{"cannot run Graphviz (`dot`, package graphviz)", {}, ErrorKind::machine};
        case Layout::failed: return Error{"Graphviz could not draw the picture", {}, ErrorKind::machine};
        case Layout::done: {
          std::optional<std::string> bytes = picture.get();
          if (!bytes) return Error{"cannot read what Graphviz has drawn: " + std::string(std::strerror(errno)), {}, ErrorKind::machine};
          std::string remark;
          if (!tried.empty()) remark = "Graphviz did not lay out the picture within " + format_seconds(seconds) + "; this one shows less";
          return Drawing{*std::move(bytes), std::move(remark)};
        }
        case Layout::late: break;
      }
      tried = source;
    }
    while (next < std::size(kFewer) && !options.full && kFewer[next] == 0) ++next;
    while (next < std::size(kFewer) && options.most_nodes > 0 && kFewer[next] >= options.most_nodes) ++next;
    if (next >= std::size(kFewer))
      return Error{
          "Graphviz did not lay out the picture within " + format_seconds(seconds) + ", nor one that shows less", {}, ErrorKind::machine};
    detail = {false, kFewer[next]};
  }
}

Result<Drawing> draw(const Plan& plan, const planner::PictureOptions& options, const std::string& format, double seconds) {
  Result<Drawing> drawing = draw_by_graphviz(plan, options, format, seconds);
  if (drawing) return drawing;
  if (format == "svg") return Drawing{planner::svg(plan, options), drawing.error().message + ": laid out without it"};
  return Error{drawing.error().message + "; a .svg or .dot file needs no Graphviz", {}, ErrorKind::machine};
}

void end_graphviz() noexcept {
  if (const pid_t group = running; group > 0) ::kill(-group, SIGKILL);
}

}  // namespace cleave::cli
