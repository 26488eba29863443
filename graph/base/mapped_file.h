// MappedFile: a file mapped into memory, so that only accessed pages are read from disk. Small files are read whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "graph/base/named_file.h"
#include "graph/base/result.h"

namespace cleave {

/// A temporary view of a file's bytes. If the file is changed in place meanwhile, the bytes change too, and `unchanged` reports it
/// afterwards; truncated parts read as zeros. Replacing the file by a new one of the same name is harmless. Callers that need the bytes for
/// longer must copy them.
class MappedFile {
 public:
  /// Directories, devices, pipes, and files that cannot be read are an Error (file).
  static Result<std::shared_ptr<const MappedFile>> open(const std::string& path);
  /// Maps a file that is already open; the map may outlive `file`.
  static Result<std::shared_ptr<const MappedFile>> open(const RegularFile& file);
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  [[nodiscard]] std::string_view bytes() const { return {data_, size_}; }
  /// An Error (file) if the file was written to or cut short since it was opened.
  [[nodiscard]] Status unchanged() const;

  /// File attributes that change when the file is written: size and modification time. The status-change time is not used, since it also
  /// changes when a new file takes the name.
  struct Version {
    std::int64_t size = 0, modified_seconds = 0, modified_nanoseconds = 0;
    bool operator==(const Version&) const = default;
  };

 private:
  MappedFile() = default;

  const char* data_ = nullptr;
  std::size_t size_ = 0;
  std::string path_;
  int descriptor_ = -1;  ///< the mapped file's
  Version version_;
  int guard_ = -1;    ///< number of the map's guard
  std::string read_;  ///< content of a small file
};

}  // namespace cleave
