// A file's bytes without reading them: mapped into memory, so that only what is looked at comes from disk. Small files are read whole.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "graph/base/named_file.h"
#include "graph/base/result.h"

namespace cleave {

/// The bytes of a file that does not change while they are looked at. A file that is cut short meanwhile ends the program (SIGBUS), as for
/// everybody who maps files; what is replaced by a new file of the same name does no harm.
class MappedFile {
 public:
  /// Directories, devices, pipes, and files that cannot be read are an Error (file).
  static Result<std::shared_ptr<const MappedFile>> open(const std::string& path);
  /// The bytes of a file that is open already; the map outlives `file`.
  static Result<std::shared_ptr<const MappedFile>> open(const RegularFile& file);
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  [[nodiscard]] std::string_view bytes() const { return {data_, size_}; }

 private:
  MappedFile() = default;

  const char* data_ = nullptr;
  std::size_t size_ = 0;
  bool mapped_ = false;
  std::string read_;  ///< of small files
};

}  // namespace cleave
