#include "graph/base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <new>

namespace cleave {
namespace {

constexpr std::size_t kMostFromPipe = 256 << 20;  ///< devices and pipes may never end

Error file_error(const char* what, const std::string& path, int code) {
  return {std::string("cannot ") + what + " `" + path + "`: " + std::strerror(code), {}, ErrorKind::file};
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

Result<std::string> read_file(const std::string& path) {
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), &std::fclose);
  struct stat status;
  if (!file || ::fstat(::fileno(file.get()), &status) != 0) return file_error("read", path, errno);
  const std::size_t most = S_ISREG(status.st_mode) ? std::string().max_size() : kMostFromPipe;
  std::string content;
  try {
    std::array<char, 1 << 16> block;
    while (std::size_t n = std::fread(block.data(), 1, block.size(), file.get())) {
      if (n > most - content.size()) return file_error("read", path, EFBIG);
      content.append(block.data(), n);
    }
  } catch (const std::bad_alloc&) {
    return Error{"cannot read `" + path + "`: out of memory", {}, ErrorKind::machine};
  }
  if (std::ferror(file.get())) return file_error("read", path, errno);
  return content;
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
