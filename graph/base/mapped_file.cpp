#include "graph/base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "graph/base/file.h"
#include "graph/base/map_guard.h"

namespace cleave {
namespace {

constexpr std::size_t kReadUpTo = 1 << 20;  ///< where a map costs more than it saves

Error cannot_read(const std::string& path, const std::string& why) {
  return {"cannot read `" + path + "`: " + why, {}, ErrorKind::file};
}

class Descriptor {
 public:
  explicit Descriptor(const std::string& path) : number_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  [[nodiscard]] int number() const { return number_; }
  int take() { return std::exchange(number_, -1); }

 private:
  int number_;
};

MappedFile::Version version(const struct stat& status) {
  return {status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
}

}  // namespace

Result<std::shared_ptr<const MappedFile>> MappedFile::open(const std::string& path) {
  Descriptor file(path);
  struct stat status;
  if (file.number() < 0 || ::fstat(file.number(), &status) != 0) return cannot_read(path, std::strerror(errno));
  if (S_ISDIR(status.st_mode)) return cannot_read(path, std::strerror(EISDIR));
  if (!S_ISREG(status.st_mode)) return cannot_read(path, "it is no regular file");
  const std::shared_ptr<MappedFile> result(new MappedFile);
  result->size_ = static_cast<std::size_t>(status.st_size);
  if (result->size_ <= kReadUpTo) {
    Result<std::string> text = read_file(path, kReadUpTo);
    if (!text) return text.error();
    result->read_ = *std::move(text);
    result->data_ = result->read_.data();
    result->size_ = result->read_.size();
    return {std::shared_ptr<const MappedFile>(result)};
  }
  void* const data = ::mmap(nullptr, result->size_, PROT_READ, MAP_PRIVATE, file.number(), 0);
  if (data == MAP_FAILED) return cannot_read(path, std::strerror(errno));
  result->data_ = static_cast<const char*>(data);
  result->path_ = path;
  result->descriptor_ = file.take();
  result->version_ = version(status);
  result->guard_ = guard_map(data, result->size_);
  return {std::shared_ptr<const MappedFile>(result)};
}

MappedFile::~MappedFile() {
  if (descriptor_ < 0) return;
  release_guard(guard_);
  ::munmap(const_cast<char*>(data_), size_);
  ::close(descriptor_);
}

Status MappedFile::unchanged() const {
  struct stat now;
  if (descriptor_ < 0) return {};
  if (!found_cut(guard_) && ::fstat(descriptor_, &now) == 0 && version(now) == version_) return {};
  return Error{"`" + path_ + "` was changed while it was read; it has to stay as it is until then", {}, ErrorKind::file};
}

}  // namespace cleave
