// The door is RegularFile::open. A path is first opened with O_PATH, which neither reads nor wakes a device; the checks look at that
// descriptor, and the file is then opened for reading through it.
#include "graph/base/named_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <filesystem>
#include <new>
#include <optional>
#include <utility>

#include "graph/base/check.h"
#include "graph/base/units.h"

namespace cleave {
namespace {

namespace fs = std::filesystem;

Error cannot_read(const std::string& path, const std::string& why) {
  return {"cannot read `" + path + "`: " + why, {}, ErrorKind::file};
}

/// Magic numbers of file systems whose files the kernel generates when read (statfs(2)).
bool made_up(const struct statfs& system) {
  constexpr std::uint32_t kMagic[] = {
      0x00009fa0,  // proc
      0x62656572,  // sysfs
      0x64626720,  // debugfs
      0x74726163,  // tracefs
      0x73636673,  // securityfs
      0x0027e0eb,  // cgroup
      0x63677270,  // cgroup2
      0x6165676c,  // pstore
      0xde5e81e4,  // efivarfs
      0xcafe4a11,  // bpf
      0x62656570,  // configfs
      0xf97cff8c,  // selinux
      0x43415d53,  // smack
      0x42494e4d,  // binfmt_misc
      0x65735543,  // fusectl
      0x6e736673,  // nsfs
      0x67596969,  // rpc_pipefs
  };
  return std::find(std::begin(kMagic), std::end(kMagic), static_cast<std::uint32_t>(system.f_type)) != std::end(kMagic);
}

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  [[nodiscard]] int number() const { return number_; }

 private:
  int number_;
};

std::string link_of(int descriptor) {
  return "/proc/self/fd/" + std::to_string(descriptor);
}

/// The path of an open file with links resolved; empty if the system does not provide it.
std::string real_path(int descriptor) {
  char text[PATH_MAX];
  const ssize_t length = ::readlink(link_of(descriptor).c_str(), text, sizeof text);
  if (length <= 0 || static_cast<std::size_t>(length) >= sizeof text || text[0] != '/') return {};
  return {text, static_cast<std::size_t>(length)};
}

std::string folder_of(const fs::path& file) {
  return file.has_parent_path() ? file.parent_path().string() : ".";
}

/// Deleter of a file name that also stores its roots.
struct StatedName {
  std::shared_ptr<const FileRoots> roots;
  void operator()(const std::string* name) const { delete name; }
};

}  // namespace

Result<RegularFile> RegularFile::open(const std::string& path) {
  return open(path, nullptr);
}

Result<RegularFile> RegularFile::open(const std::string& path, const std::function<bool(const std::string&)>& allowed) {
  if (path.find('\0') != std::string::npos) return cannot_read(path, "the name holds a zero byte");
  const Descriptor found(::open(path.c_str(), O_PATH | O_CLOEXEC));
  struct stat status, opened;
  struct statfs system;
  if (found.number() < 0 || ::fstat(found.number(), &status) != 0) return cannot_read(path, std::strerror(errno));
  if (S_ISDIR(status.st_mode)) return cannot_read(path, std::strerror(EISDIR));
  if (!S_ISREG(status.st_mode)) return cannot_read(path, "it is no regular file");
  if (::fstatfs(found.number(), &system) != 0) return cannot_read(path, std::strerror(errno));
  if (made_up(system)) return cannot_read(path, "it is no file on disk");
  const std::string real = real_path(found.number());
  if (allowed && !allowed(real)) return cannot_read(path, "it lies outside of the model's folder");
  // Without /proc, opens the path again and compares the files.
  const std::string again = real.empty() ? path : link_of(found.number());
  RegularFile file(::open(again.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), path);
  if (file.descriptor_ < 0 || ::fstat(file.descriptor_, &opened) != 0) return cannot_read(path, std::strerror(errno));
  if (opened.st_dev != status.st_dev || opened.st_ino != status.st_ino) return cannot_read(path, "it changes while it is opened");
  file.size_ = opened.st_size;
  return file;
}

RegularFile::RegularFile(RegularFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), path_(std::move(other.path_)), size_(other.size_) {}

RegularFile::~RegularFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<std::string> RegularFile::read(std::int64_t limit) const {
  if (size_ > limit) return cannot_read(path_, "the file is larger than " + format_bytes(static_cast<double>(limit)));
  std::string content;
  try {
    content.resize(static_cast<std::size_t>(size_));
  } catch (const std::bad_alloc&) {
    return Error{"cannot read `" + path_ + "`: out of memory", {}, ErrorKind::machine};
  }
  std::size_t done = 0;
  while (done < content.size()) {
    const ssize_t got = ::pread(descriptor_, content.data() + done, content.size() - done, static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return cannot_read(path_, std::strerror(errno));
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  content.resize(done);
  return content;
}

FileRoots::FileRoots(const std::string& model, const std::vector<std::string>& folders) {
  add(folder_of(model), false);
  add_blobs();
  std::error_code failure;
  if (const fs::path file = fs::canonical(model, failure); !failure) add(folder_of(file), false);
  for (const std::string& folder : folders) add(folder, true);
}

/// `everywhere`: the user means it if the folder is `/`.
void FileRoots::add(const std::string& folder, bool everywhere) {
  std::error_code failure;
  const fs::path stated = fs::absolute(folder, failure).lexically_normal();
  if (failure) return;
  const fs::path real = fs::canonical(stated, failure);
  if (failure) return;
  const bool ends_in_slash = !stated.has_filename() && stated.has_relative_path();
  const Root root{(ends_in_slash ? stated.parent_path() : stated).string(), real.string(), everywhere || real != "/"};
  const auto same = [&](const Root& other) { return other.stated == root.stated && other.folder == root.folder; };
  const auto known = std::find_if(roots_.begin(), roots_.end(), same);
  if (known == roots_.end())
    roots_.push_back(root);
  else
    known->deep = known->deep || root.deep;
}

/// The folder `blobs` beside the innermost `snapshots` that holds the model's folder.
void FileRoots::add_blobs() {
  if (roots_.empty()) return;
  for (fs::path folder = roots_.front().folder; folder.has_relative_path(); folder = folder.parent_path()) {
    if (folder.filename() != "snapshots") continue;
    std::error_code failure;
    const fs::path blobs = fs::canonical(folder.parent_path() / "blobs", failure);
    if (!failure && blobs == folder.parent_path() / "blobs") roots_.push_back({"", blobs.string(), false});
    return;
  }
}

bool FileRoots::lies_in(std::string_view path, std::string_view folder, bool deep) {
  if (!path.starts_with(folder)) return false;
  path.remove_prefix(folder.size());
  if (folder != "/") {
    if (!path.starts_with('/')) return false;
    path.remove_prefix(1);
  }
  const bool hidden = path.starts_with('.') || path.find("/.") != std::string_view::npos;
  return !path.empty() && !hidden && (deep || path.find('/') == std::string_view::npos);
}

Result<RegularFile> FileRoots::open(const std::string& name) const {
  const auto inside = [this](const std::string& path, std::string Root::*folder, bool by_links) {
    return std::any_of(roots_.begin(), roots_.end(),
                       [&](const Root& root) { return (by_links || !root.stated.empty()) && lies_in(path, root.*folder, root.deep); });
  };
  const Error outside{"`" + name + "` lies outside of the model's folder", {}, ErrorKind::file};
  const fs::path normal = fs::path(name).lexically_normal();
  if (name.empty() || name.find('\0') != std::string::npos || *normal.begin() == "..") return outside;
  std::vector<std::string> candidates;
  if (normal.is_relative())
    for (const Root& root : roots_)
      if (!root.stated.empty()) candidates.push_back((fs::path(root.stated) / normal).string());
  std::error_code failure;
  const std::string here = fs::absolute(normal, failure).string();  // an absolute name stays as it is
  if (!failure && (inside(here, &Root::stated, false) || inside(here, &Root::folder, false))) candidates.push_back(here);
  std::optional<Error> error;
  for (const std::string& path : candidates) {
    bool left = false;
    Result<RegularFile> file =
        RegularFile::open(path, [&](const std::string& real) { return !(left = !inside(real, &Root::folder, true)); });
    if (file) return file;
    if (left) error = outside;
    if (!error) error = file.error();
  }
  return error.value_or(outside);
}

std::shared_ptr<const std::string> stated_file(std::string name, std::shared_ptr<const FileRoots> roots) {
  CLEAVE_CHECK(roots != nullptr, "a name that a file states has roots");
  // NOLINTNEXTLINE(cppcoreguidelines-owning-memory): the deleter owns it and carries the roots, which a plain string has no place for.
  return {new const std::string(std::move(name)), StatedName{std::move(roots)}};
}

std::shared_ptr<const FileRoots> stated_roots(const SourceLocation& location) {
  const auto* stated = std::get_deleter<StatedName>(location.file);
  return stated ? stated->roots : nullptr;
}

}  // namespace cleave
