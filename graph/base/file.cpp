#include "graph/base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <new>

#include "graph/base/units.h"

namespace cleave {
namespace {

constexpr std::int64_t kFirstBlock = 1 << 16;  ///< of a file of unknown size

Error file_error(const char* what, const std::string& path, int code) {
  return {std::string("cannot ") + what + " `" + path + "`: " + std::strerror(code), {}, ErrorKind::file};
}

Error too_large(const std::string& path, std::int64_t limit) {
  return {"cannot read `" + path + "`: the file is larger than " + format_bytes(static_cast<double>(limit)), {}, ErrorKind::file};
}

/// 0, or the errno of what failed.
int write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

/// Opens a file that did not exist: `path` with a suffix, which is added to it. -1 with errno if that fails.
int open_fresh(std::string& path) {
  const std::string stem = path + ".tmp" + std::to_string(::getpid());
  for (int attempt = 0; attempt < 1000; ++attempt) {
    path = stem + "-" + std::to_string(attempt);
    int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file >= 0 || errno != EEXIST) return file;
  }
  return -1;
}

}  // namespace

Result<InputFile> InputFile::open(const std::string& path, std::int64_t limit) {
  InputFile file(::open(path.c_str(), O_RDONLY | O_CLOEXEC), path, limit);
  struct stat status;
  if (file.descriptor_ < 0 || ::fstat(file.descriptor_, &status) != 0) return file_error("read", path, errno);
  if (S_ISDIR(status.st_mode)) return file_error("read", path, EISDIR);
  if (S_ISREG(status.st_mode) && status.st_size > 0) file.size_ = status.st_size;
  if (file.size_ && *file.size_ > limit) return too_large(path, limit);
  return file;
}

InputFile::InputFile(InputFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      path_(std::move(other.path_)),
      limit_(other.limit_),
      position_(other.position_),
      size_(other.size_) {}

InputFile::~InputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<std::size_t> InputFile::read(void* into, std::size_t count) {
  std::size_t done = 0;
  while (done < count) {
    const ssize_t got = ::read(descriptor_, static_cast<char*>(into) + done, count - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return file_error("read", path_, errno);
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
    position_ += got;
    if (position_ > limit_) return too_large(path_, limit_);
  }
  return done;
}

Result<std::string> read_file(const std::string& path, std::int64_t limit) {
  Result<InputFile> file = InputFile::open(path, limit);
  if (!file) return file.error();
  std::string content;
  try {
    // One byte beyond what is there, so that the end is seen without another round.
    for (std::size_t wanted = static_cast<std::size_t>(file->size().value_or(kFirstBlock) + 1);; wanted = content.size() + 1) {
      const std::size_t before = content.size();
      content.resize(std::max(wanted, std::min(2 * before, static_cast<std::size_t>(limit) + 1)));
      Result<std::size_t> got = file->read(content.data() + before, content.size() - before);
      if (!got) return got.error();
      const bool ended = before + *got < content.size();
      content.resize(before + *got);
      if (ended) return content;
    }
  } catch (const std::bad_alloc&) {
    return Error{"cannot read `" + path + "`: out of memory", {}, ErrorKind::machine};
  }
}

Status write_file(const std::string& path, std::initializer_list<std::string_view> parts) {
  std::error_code ignored;
  std::string target = std::filesystem::is_symlink(path, ignored) ? std::filesystem::weakly_canonical(path, ignored).string() : path;
  if (target.empty()) target = path;
  struct stat status;
  const bool exists = ::stat(target.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) return file_error("write", path, EISDIR);
  const bool direct = exists && !S_ISREG(status.st_mode);
  std::string temporary = target;
  int file = direct ? ::open(target.c_str(), O_WRONLY | O_CLOEXEC) : open_fresh(temporary);
  if (file < 0) return file_error("write", path, errno);
  int failed = 0;
  for (std::string_view part : parts) {
    if (failed == 0) failed = write_all(file, part);
  }
  if (::close(file) != 0 && failed == 0) failed = errno;
  if (failed == 0 && !direct && ::rename(temporary.c_str(), target.c_str()) != 0) failed = errno;
  if (failed != 0 && !direct) ::unlink(temporary.c_str());
  if (failed != 0) return file_error("write", path, failed);
  return {};
}

}  // namespace cleave
