// The files that have a name and are not finished, so that the handler of a signal can remove them (remove_unfinished_files in
// output_file.h). A table of fixed size that needs neither memory nor locks; what finds no room in it is removed by everything but signals.
#pragma once

#include <cstddef>
#include <string>

namespace cleave {

/// A name in the table. Removes the file when it goes, unless it was forgotten before.
class UnfinishedFile {
 public:
  UnfinishedFile() = default;
  explicit UnfinishedFile(std::string path);
  UnfinishedFile(UnfinishedFile&& other) noexcept;
  UnfinishedFile& operator=(UnfinishedFile&& other) noexcept;
  ~UnfinishedFile();

  [[nodiscard]] const std::string& path() const { return path_; }
  /// The file is finished, or was never made.
  void forget() noexcept;

 private:
  std::string path_;
  std::ptrdiff_t slot_ = -1;  ///< in the table
};

}  // namespace cleave
