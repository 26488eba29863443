// Reads whole files, with errors that name the file and the reason. Every read has a limit, so that an endless device or pipe is an Error
// instead of exhausting memory. Writing: output_file.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "graph/base/result.h"

namespace cleave {

/// Largest sizes of files by kind. Arrays have no limit of their own: their declared type determines how many bytes are read.
namespace file_limit {
inline constexpr std::int64_t kModel = std::int64_t{1} << 20;    ///< a model in YAML, whose tree takes a hundred times that at worst
inline constexpr std::int64_t kText = std::int64_t{64} << 20;    ///< a machine file, a profile
inline constexpr std::int64_t kGraph = std::int64_t{512} << 20;  ///< a program in text form, with its literals
inline constexpr std::int64_t kProblem = std::int64_t{4} << 30;  ///< a placement problem or workload
}  // namespace file_limit

/// Kinds of files that may be opened. A path given by the user may name any file; one given by a model only a regular file (named_file.h).
enum class FileKind { any, regular };

/// A file opened for reading, from its begin to its end; also a device or a pipe, where `kind` allows it.
class InputFile {
 public:
  /// An Error if the file's known size exceeds `limit`, and for directories and unreadable files.
  static Result<InputFile> open(const std::string& path, std::int64_t limit, FileKind kind = FileKind::any);
  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&&) = delete;
  ~InputFile();

  /// The next `count` bytes; fewer only where the file ends. More than the limit in all is an Error.
  Result<std::size_t> read(void* into, std::size_t count);
  /// The size of a regular file; none for devices, pipes and files that the system generates when read.
  [[nodiscard]] std::optional<std::int64_t> size() const { return size_; }
  /// Bytes read so far.
  [[nodiscard]] std::int64_t position() const { return position_; }

 private:
  InputFile(int descriptor, const std::string& path, std::int64_t limit) : descriptor_(descriptor), path_(path), limit_(limit) {}

  int descriptor_;
  std::string path_;
  std::int64_t limit_, position_ = 0;
  std::optional<std::int64_t> size_;
};

/// The content of a file of at most `limit` bytes.
Result<std::string> read_file(const std::string& path, std::int64_t limit = file_limit::kText, FileKind kind = FileKind::any);

/// Writes the concatenation of `parts`, atomically as OutputFile does (output_file.h).
Status write_file(const std::string& path, std::initializer_list<std::string_view> parts);

}  // namespace cleave
