#include "graph/base/appended_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace cleave {
namespace {

Error cannot_append(const std::string& path, int code) {
  return {"cannot write `" + path + "`: " + std::strerror(code), {}, ErrorKind::file};
}

}  // namespace

Result<AppendedFile> AppendedFile::open(const std::string& path, bool anew) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | (anew ? O_TRUNC : 0), 0666);
  if (descriptor < 0) return cannot_append(path, errno);
  return AppendedFile(path, descriptor);
}

AppendedFile::AppendedFile(AppendedFile&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

AppendedFile::~AppendedFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Status AppendedFile::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return cannot_append(path_, errno);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

}  // namespace cleave
