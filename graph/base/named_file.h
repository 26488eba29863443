// Files that are named inside other files: source lines in a model's metadata, external data of an ONNX model, default data of inputs and
// parameters, libraries of host functions. All of them are opened here, and only regular files on disk are opened at all: no device, no
// pipe, and nothing that the system makes up when it is read, such as /proc/self/environ. FileRoots confine a name to folders; names for
// which no roots are stated may lie anywhere (SECURITY.md says which those are).
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

/// A regular file on disk, opened for reading. It is identified before it is opened, and checked by its descriptor, so that a name that
/// means another file a moment later changes nothing.
class RegularFile {
 public:
  /// An Error (file) for what is no regular file on disk or cannot be read. Nothing is ever waited for.
  static Result<RegularFile> open(const std::string& path);
  RegularFile(RegularFile&& other) noexcept;
  RegularFile& operator=(RegularFile&&) = delete;
  ~RegularFile();

  [[nodiscard]] int descriptor() const { return descriptor_; }
  /// The descriptor, which the caller closes from here on.
  [[nodiscard]] int release() && { return std::exchange(descriptor_, -1); }
  /// Bytes, when it was opened.
  [[nodiscard]] std::int64_t size() const { return size_; }
  /// As it was named.
  [[nodiscard]] const std::string& path() const { return path_; }
  /// The content: at most the size() bytes that the file had when it was opened. A size of more than `limit` bytes is an Error.
  [[nodiscard]] Result<std::string> read(std::int64_t limit) const;

 private:
  friend class FileRoots;
  /// `allowed` is asked for the path without links; null: any is.
  static Result<RegularFile> open(const std::string& path, const std::function<bool(const std::string&)>& allowed);
  RegularFile(int descriptor, std::string path) : descriptor_(descriptor), path_(std::move(path)) {}

  int descriptor_;
  std::string path_;
  std::int64_t size_ = 0;
};

/// The folders in which the files must lie that a model names, links followed.
class FileRoots {
 public:
  /// The folder of `model`, and where `model` is a link the folder of the file that it leads to, as the Hugging Face cache has them;
  /// beside them `folders`. What does not exist is no root. Of a model in `/` only the files beside it are allowed, as all files lie there.
  explicit FileRoots(const std::string& model, const std::vector<std::string>& folders = {});

  /// A relative name is looked for in each root, and in the working directory if it then lies in a root; an absolute one must lie in a root
  /// by its text. An Error (file) where no root has such a regular file, and for a file that lies outside by `..` or by a link. Hidden
  /// files and folders in a root (`.ssh`) are outside, too.
  [[nodiscard]] Result<RegularFile> open(const std::string& name) const;

 private:
  struct Root {
    std::string stated;  ///< absolute, as the user states it
    std::string folder;  ///< without links
    bool deep = true;    ///< what lies in folders in it is inside, too
  };
  void add(const std::string& folder, bool everywhere);
  static bool lies_in(std::string_view path, std::string_view folder, bool deep);

  std::vector<Root> roots_;
};

/// The name of a source file that a model's file states: its lines may be shown if it lies in `roots`. Names that are made otherwise come
/// from the running program itself or from its user, and may lie anywhere. `roots` is not null.
std::shared_ptr<const std::string> stated_file(std::string name, std::shared_ptr<const FileRoots> roots);

/// The roots with which the name of the location's file was stated; null: it may lie anywhere.
std::shared_ptr<const FileRoots> stated_roots(const SourceLocation& location);

}  // namespace cleave
