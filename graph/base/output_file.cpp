#include "graph/base/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstring>
#include <optional>
#include <utility>

#include "graph/base/unfinished_files.h"

namespace cleave {
namespace {

constexpr mode_t kFreshMode = 0666;  ///< before the process's umask is applied
constexpr mode_t kAnybodyWrites = 0222;
constexpr int kMostLinks = 40, kMostNames = 1000;

Error write_error(const std::string& path, int code) {
  return {"cannot write `" + path + "`: " + std::strerror(code), {}, ErrorKind::file};
}

/// The folder of a path, with its trailing slash; empty: the working directory.
std::string folder_of(const std::string& path) {
  return path.substr(0, path.rfind('/') + 1);
}

/// The descriptor number in `/proc/self/fd/1` and `/dev/fd/1`.
std::optional<int> own_descriptor(const std::string& path) {
  for (const std::string_view folder : {"/proc/self/fd/", "/dev/fd/"}) {
    if (!path.starts_with(folder)) continue;
    int number = -1;
    const char* end = path.data() + path.size();
    if (std::from_chars(path.data() + folder.size(), end, number).ptr == end && number >= 0) return number;
  }
  return std::nullopt;
}

/// The resolved target of a file name.
struct ResolvedTarget {
  std::string path;
  std::optional<int> descriptor;     ///< the descriptor, if the path names an open one
  std::optional<struct stat> found;  ///< status of an existing file
  int failure = 0;                   ///< errno

  [[nodiscard]] bool direct() const { return descriptor || (found && !S_ISREG(found->st_mode)); }
};

/// Follows links to their target, which need not exist.
ResolvedTarget find_place(std::string path) {
  std::array<char, PATH_MAX> link;
  for (int links = 0; links < kMostLinks; ++links) {
    if (const std::optional<int> number = own_descriptor(path)) return {path, number, std::nullopt, 0};
    const ssize_t length = path.starts_with("/proc/") ? -1 : ::readlink(path.c_str(), link.data(), link.size());
    if (length < 0) {
      ResolvedTarget place{std::move(path), std::nullopt, std::nullopt, 0};
      struct stat status;
      if (::stat(place.path.c_str(), &status) == 0)
        place.found = status;
      else if (errno != ENOENT)
        place.failure = errno;
      return place;
    }
    const std::string target(link.data(), static_cast<std::size_t>(length));
    path = target.starts_with('/') ? target : folder_of(path) + target;
  }
  return {std::move(path), std::nullopt, std::nullopt, ELOOP};
}

/// errno if the target cannot be written to, or 0.
int refusal(const ResolvedTarget& place) {
  if (place.failure != 0) return place.failure;
  if (place.descriptor) {
    const int flags = ::fcntl(*place.descriptor, F_GETFL);
    return flags >= 0 && (flags & O_ACCMODE) != O_RDONLY ? 0 : EBADF;
  }
  if (place.path.empty()) return ENOENT;
  if (place.path.back() == '/') return EISDIR;
  if (!place.found) return 0;
  if (S_ISDIR(place.found->st_mode)) return EISDIR;
  // root may write to any file, but a file without any write permission must not be replaced.
  if (S_ISREG(place.found->st_mode) && (place.found->st_mode & kAnybodyWrites) == 0) return EACCES;
  return ::access(place.path.c_str(), W_OK) == 0 ? 0 : errno;
}

std::string descriptor_path(int descriptor) {
  return "/proc/self/fd/" + std::to_string(descriptor);
}

/// Opens a nameless file in `folder`; -1 if the file system does not support that.
int open_nameless(const std::string& folder) {
  const int descriptor = ::open(folder.empty() ? "." : folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, kFreshMode);
  if (descriptor < 0 || ::access(descriptor_path(descriptor).c_str(), F_OK) == 0) return descriptor;
  ::close(descriptor);  // it could not be given a name later
  return -1;
}

}  // namespace

struct OutputFile::State {
  std::string shown;  ///< the path as the user gave it
  ResolvedTarget place;
  UnfinishedFile temporary;  ///< its temporary name, if any
  int descriptor = -1;

  ~State() {
    if (descriptor >= 0) ::close(descriptor);
  }

  [[nodiscard]] Error error(int code) const { return write_error(shown, code); }

  /// Calls `make` with names in the folder until one is free; false with errno if it fails otherwise.
  template <class F>
  bool find_name(F&& make) {
    static std::atomic<unsigned> next = 0;
    for (int attempt = 0; attempt < kMostNames; ++attempt) {
      temporary = UnfinishedFile(folder_of(place.path) + ".cleave-" + std::to_string(::getpid()) + "-" + std::to_string(next++) + ".tmp");
      if (make(temporary.path().c_str())) return true;
      const int failure = errno;
      temporary.forget();
      errno = failure;
      if (failure != EEXIST) return false;
    }
    return false;
  }

  int open(Unfinished unfinished) {
    if (place.descriptor) return ::fcntl(*place.descriptor, F_DUPFD_CLOEXEC, 0);
    if (place.direct()) return ::open(place.path.c_str(), O_WRONLY | O_CLOEXEC);
    int opened = unfinished == Unfinished::nameless ? open_nameless(folder_of(place.path)) : -1;
    if (opened >= 0) return opened;
    find_name([&](const char* name) {
      opened = ::open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kFreshMode);
      return opened >= 0;
    });
    return opened;
  }

  /// Copies owner and mode of the replaced file as far as permitted. The owner comes first, since changing it clears mode bits.
  void take_over_mode() const {
    if (place.direct() || !place.found) return;
    const struct stat& found = *place.found;
    const bool owned = ::fchown(descriptor, found.st_uid, found.st_gid) == 0 || ::fchown(descriptor, -1, found.st_gid) == 0;
    const bool same_mode = ::fchmod(descriptor, found.st_mode & 07777) == 0;
    (void)(owned && same_mode);  // failure is ignored: some file systems have no owners and modes
  }

  /// errno, or 0.
  int commit() {
    if (!place.direct() && temporary.path().empty()) {
      const std::string source = descriptor_path(descriptor);
      const auto link = [&](const char* name) { return ::linkat(AT_FDCWD, source.c_str(), AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0; };
      if (!place.found && link(place.path.c_str())) return close();
      if (!find_name(link)) return errno;  // only a file that has a name can replace another one
    }
    if (const int failure = close(); failure != 0 || place.direct()) return failure;
    if (::rename(temporary.path().c_str(), place.path.c_str()) != 0) return errno;
    temporary.forget();
    return 0;
  }

  /// errno, EEXIST where a file is there, or 0.
  [[nodiscard]] int commit_if_first() {
    const std::string source = temporary.path().empty() ? descriptor_path(descriptor) : temporary.path();
    if (::linkat(AT_FDCWD, source.c_str(), AT_FDCWD, place.path.c_str(), AT_SYMLINK_FOLLOW) != 0) return errno;
    return close();
  }

  int close() { return ::close(std::exchange(descriptor, -1)) == 0 ? 0 : errno; }
};

OutputFile::OutputFile(std::unique_ptr<State> state) : state_(std::move(state)) {}
OutputFile::OutputFile(OutputFile&&) noexcept = default;
OutputFile& OutputFile::operator=(OutputFile&&) noexcept = default;
OutputFile::~OutputFile() = default;

Result<OutputFile> OutputFile::create(const std::string& path, Unfinished unfinished) {
  auto state = std::make_unique<State>();
  state->shown = path;
  state->place = find_place(path);
  if (const int failure = refusal(state->place); failure != 0) return state->error(failure);
  state->descriptor = state->open(unfinished);
  if (state->descriptor < 0) return state->error(errno);
  state->take_over_mode();
  return OutputFile(std::move(state));
}

Status OutputFile::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(state_->descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return state_->error(errno);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

Status OutputFile::commit() {
  const int failure = state_->commit();
  return failure == 0 ? Status() : state_->error(failure);
}

Result<bool> OutputFile::commit_if_first() {
  if (state_->place.direct()) return state_->error(EEXIST);
  const int failure = state_->commit_if_first();
  if (failure == 0 || failure == EEXIST) return failure == 0;
  return state_->error(failure);
}

int OutputFile::descriptor() const {
  return state_->descriptor;
}

Status check_writable(const std::string& path) {
  const ResolvedTarget place = find_place(path);
  int failure = refusal(place);
  if (failure == 0 && !place.direct()) {
    const std::string folder = folder_of(place.path);
    if (::access(folder.empty() ? "." : folder.c_str(), W_OK | X_OK) != 0) failure = errno;
  }
  return failure == 0 ? Status() : write_error(path, failure);
}

}  // namespace cleave
