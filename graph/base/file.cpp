#include "graph/base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "graph/base/named_file.h"
#include "graph/base/output_file.h"
#include "graph/base/stop.h"
#include "graph/base/units.h"

namespace cleave {
namespace {

constexpr std::int64_t kFirstBlock = 1 << 16;  ///< first buffer size for a file of unknown size

Error read_error(const std::string& path, int code) {
  return {"cannot read `" + path + "`: " + std::strerror(code), {}, ErrorKind::file};
}

Error too_large(const std::string& path, std::int64_t limit) {
  return {"cannot read `" + path + "`: the file is larger than " + format_bytes(static_cast<double>(limit)), {}, ErrorKind::file};
}

}  // namespace

Result<InputFile> InputFile::open(const std::string& path, std::int64_t limit, FileKind kind) {
  int descriptor = -1;
  if (kind == FileKind::regular) {
    Result<RegularFile> regular = RegularFile::open(path);
    if (!regular) return regular.error();
    descriptor = (*std::move(regular)).release();
  } else {
    descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY);
  }
  InputFile file(descriptor, path, limit);
  struct stat status;
  if (file.descriptor_ < 0 || ::fstat(file.descriptor_, &status) != 0) return read_error(path, errno);
  if (S_ISDIR(status.st_mode)) return read_error(path, EISDIR);
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
    if (got < 0) return read_error(path_, errno);
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
    position_ += got;
    if (position_ > limit_) return too_large(path_, limit_);
  }
  return done;
}

Result<std::string> read_file(const std::string& path, std::int64_t limit, FileKind kind) {
  Result<InputFile> file = InputFile::open(path, limit, kind);
  if (!file) return file.error();
  std::string content;
  try {
    // One byte more than the known size, so that the end is detected without another read.
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
  Result<OutputFile> file = OutputFile::create(path);
  if (!file) return file.error();
  constexpr std::size_t kPart = 4 << 20;  ///< bytes between two polls for cancellation
  for (const std::string_view part : parts) {
    for (std::size_t at = 0; at < part.size(); at += kPart) {
      look_at_stop();
      if (Status written = file->write(part.substr(at, kPart)); !written) return written;
    }
  }
  return file->commit();
}

}  // namespace cleave
