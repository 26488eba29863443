#include "graph/base/mapped_file.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>

namespace cleave {
namespace {

constexpr std::size_t kReadUpTo = 1 << 20;  ///< where a map costs more than it saves

Error cannot_read(const std::string& path, const std::string& why) {
  return {"cannot read `" + path + "`: " + why, {}, ErrorKind::file};
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
  void* const data = ::mmap(nullptr, result->size_, PROT_READ, MAP_PRIVATE, file.descriptor(), 0);
  if (data == MAP_FAILED) return cannot_read(file.path(), std::strerror(errno));
  result->data_ = static_cast<const char*>(data);
  result->mapped_ = true;
  return {std::shared_ptr<const MappedFile>(result)};
}

MappedFile::~MappedFile() {
  if (mapped_) ::munmap(const_cast<char*>(data_), size_);
}

}  // namespace cleave
