// AppendedFile: a file that grows while the program runs, so that what was written stays if the process is killed.
#pragma once

#include <string>
#include <string_view>

#include "graph/base/result.h"

namespace cleave {

class AppendedFile {
 public:
  /// Opens or creates the file. `anew`: what stood there is removed; else it stays, and writing goes on behind it.
  static Result<AppendedFile> open(const std::string& path, bool anew);
  AppendedFile(AppendedFile&& other) noexcept;
  AppendedFile& operator=(AppendedFile&&) = delete;
  ~AppendedFile();

  /// The bytes are with the system when it returns. An Error (file) names the path.
  Status write(std::string_view bytes);

 private:
  AppendedFile(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}
  std::string path_;
  int descriptor_;
};

}  // namespace cleave
