#include "graph/base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "graph/base/map_guard.h"

namespace cleave {
namespace {

constexpr std::size_t kReadUpTo = 1 << 20;  ///< up to this size, mapping costs more than it saves

Error cannot_map(const std::string& path) {
  return {"cannot read `" + path + "`: " + std::strerror(errno), {}, ErrorKind::file};
}

MappedFile::Version version(const struct stat& status) {
  return {status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
}

}  // namespace

Result<std::shared_ptr<const MappedFile>> MappedFile::open(const std::string& path) {
  const Result<RegularFile> file = RegularFile::open(path);
  if (!file) return file.error();
  return open(*file);
}

Result<std::shared_ptr<const MappedFile>> MappedFile::open(const RegularFile& file) {
  const std::shared_ptr<MappedFile> result(new MappedFile);
  result->size_ = static_cast<std::size_t>(file.size());
  if (result->size_ <= kReadUpTo) {
    Result<std::string> text = file.read(kReadUpTo);
    if (!text) return text.error();
    result->read_ = *std::move(text);
    result->data_ = result->read_.data();
    result->size_ = result->read_.size();
    return {std::shared_ptr<const MappedFile>(result)};
  }
  struct stat status;
  const int descriptor = ::fcntl(file.descriptor(), F_DUPFD_CLOEXEC, 0);
  if (descriptor < 0 || ::fstat(descriptor, &status) != 0) return cannot_map(file.path());
  result->descriptor_ = descriptor;
  void* const data = ::mmap(nullptr, result->size_, PROT_READ, MAP_PRIVATE, file.descriptor(), 0);
  if (data == MAP_FAILED) return cannot_map(file.path());
  result->data_ = static_cast<const char*>(data);
  result->path_ = file.path();
  result->version_ = version(status);
  result->guard_ = guard_map(data, result->size_);
  return {std::shared_ptr<const MappedFile>(result)};
}

MappedFile::~MappedFile() {
  if (data_ && descriptor_ >= 0) {
    release_guard(guard_);
    ::munmap(const_cast<char*>(data_), size_);
  }
  if (descriptor_ >= 0) ::close(descriptor_);
}

Status MappedFile::unchanged() const {
  struct stat now;
  if (descriptor_ < 0) return {};
  if (!found_cut(guard_) && ::fstat(descriptor_, &now) == 0 && version(now) == version_) return {};
  return Error{"`" + path_ + "` was changed while it was read; it has to stay as it is until then", {}, ErrorKind::file};
}

}  // namespace cleave
