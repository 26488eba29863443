// A file's bytes without reading them: mapped into memory, so that only what is looked at comes from disk. Small files are read whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "graph/base/named_file.h"
#include "graph/base/result.h"

namespace cleave {

/// The bytes of a file, to be looked at for a while. A file may be changed in place meanwhile: then they change too, and `unchanged` says
/// so afterwards. Where it was cut short, zeros are read. A new file of the same name does no harm. Whoever needs the bytes for longer
/// copies them.
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
  /// An Error (file) if the file was written to or cut short since it was opened.
  [[nodiscard]] Status unchanged() const;

  /// What writing to a file changes; the time of its last change counts more than that, also a new file of the same name.
  struct Version {
    std::int64_t size = 0, modified_seconds = 0, modified_nanoseconds = 0;
    bool operator==(const Version&) const = default;
  };

 private:
  MappedFile() = default;

  const char* data_ = nullptr;
  std::size_t size_ = 0;
  std::string path_;
  int descriptor_ = -1;  ///< of a file that is mapped
  Version version_;
  int guard_ = -1;    ///< its number among the guarded maps
  std::string read_;  ///< of small files
};

}  // namespace cleave
