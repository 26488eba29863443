// Opens files that are named inside other files: source lines in a model's metadata, external data of an ONNX model, default data of inputs
// and parameters, libraries of host functions. Only regular files on disk are opened: no device, no pipe, and no file that the system
// generates when read, such as /proc/self/environ. FileRoots confine a name to folders; names without roots may refer to any folder
// (SECURITY.md lists them).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/base/result.h"
#include "graph/base/source_location.h"

namespace cleave {

/// A regular file on disk, opened for reading. It is identified before it is opened and checked by its descriptor, so that replacing the
/// file between the two steps (a TOCTOU race) has no effect.
class RegularFile {
 public:
  /// An Error (file) if the path is not a readable regular file on disk. It never blocks.
  static Result<RegularFile> open(const std::string& path);
  RegularFile(RegularFile&& other) noexcept;
  RegularFile& operator=(RegularFile&&) = delete;
  ~RegularFile();

  [[nodiscard]] int descriptor() const { return descriptor_; }
  /// Transfers ownership of the descriptor to the caller.
  [[nodiscard]] int release() && { return std::exchange(descriptor_, -1); }
  /// Bytes, when it was opened.
  [[nodiscard]] std::int64_t size() const { return size_; }
  /// The path as it was given.
  [[nodiscard]] const std::string& path() const { return path_; }
  /// The content: at most the size() bytes that the file had when it was opened. A size of more than `limit` bytes is an Error.
  [[nodiscard]] Result<std::string> read(std::int64_t limit) const;

 private:
  friend class FileRoots;
  /// `allowed` checks the path after links are resolved; null: every path is allowed.
  static Result<RegularFile> open(const std::string& path, const std::function<bool(const std::string&)>& allowed);
  RegularFile(int descriptor, std::string path) : descriptor_(descriptor), path_(std::move(path)) {}

  int descriptor_;
  std::string path_;
  std::int64_t size_ = 0;
};

/// The folders to which files that a model names are confined, after links are resolved.
class FileRoots {
 public:
  /// The folder of `model`, and, if `model` is a link, the folder of its target (as in the Hugging Face cache), and `folders`. Nonexistent
  /// folders are ignored. For a model in `/`, only files directly in `/` are allowed, since every file is below it. Links from a folder in
  /// `X/snapshots` may lead to the files in `X/blobs`, as that cache keeps them; no name leads there without such a link.
  explicit FileRoots(const std::string& model, const std::vector<std::string>& folders = {});

  /// A relative name is searched in each root, and in the working directory if the result is in a root; an absolute name must begin with a
  /// root. An Error (file) if no root has such a regular file, and for a file that is outside because of `..` or a link. Hidden files and
  /// folders in a root (`.ssh`) count as outside.
  [[nodiscard]] Result<RegularFile> open(const std::string& name) const;

 private:
  struct Root {
    std::string stated;  ///< absolute path as given by the user; empty: only links lead to it
    std::string folder;  ///< the same with links resolved
    bool deep = true;    ///< files in subfolders are allowed, too
  };
  void add(const std::string& folder, bool everywhere);
  void add_blobs();
  static bool lies_in(std::string_view path, std::string_view folder, bool deep);

  std::vector<Root> roots_;
};

/// The name of a source file that a model states: its lines may be shown only if it is in `roots`, which must not be null. Names created in
/// other ways come from the running program or its user, and are not confined.
std::shared_ptr<const std::string> stated_file(std::string name, std::shared_ptr<const FileRoots> roots);

/// The roots to which the location's file is confined; null: none.
std::shared_ptr<const FileRoots> stated_roots(const SourceLocation& location);

}  // namespace cleave
