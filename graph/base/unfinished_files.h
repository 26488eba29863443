// Table of unfinished files that have a name, so that a signal handler can remove them (remove_unfinished_files in output_file.h). Its
// fixed size needs neither allocation nor locks; a file that does not fit is removed in every case except by a signal.
#pragma once

#include <cstddef>
#include <string>

namespace cleave {

/// An entry of the table. The destructor removes the file, unless `forget` was called.
class UnfinishedFile {
 public:
  UnfinishedFile() = default;
  explicit UnfinishedFile(std::string path);
  UnfinishedFile(UnfinishedFile&& other) noexcept;
  UnfinishedFile& operator=(UnfinishedFile&& other) noexcept;
  ~UnfinishedFile();

  [[nodiscard]] const std::string& path() const { return path_; }
  /// Drops the entry: the file is finished, or was never created.
  void forget() noexcept;

 private:
  std::string path_;
  std::ptrdiff_t slot_ = -1;  ///< index in the table
};

}  // namespace cleave
