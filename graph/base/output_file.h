// OutputFile: an atomically written file. It appears at its path only when complete. An unfinished file leaves nothing behind after an
// error or, if the file system supports nameless files (O_TMPFILE), after the process is killed.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "graph/base/result.h"

namespace cleave {

class OutputFile {
 public:
  /// Whether an unfinished file has a name in its folder: none, or a short temporary one if the file system lacks nameless files.
  enum class Unfinished : std::uint8_t { nameless, named };

  /// Links are followed, also to a target that does not exist yet. A replaced file's owner and mode are kept; a read-only file is an Error.
  /// Devices, pipes, `/dev/stdout` and the like are written to directly.
  static Result<OutputFile> create(const std::string& path, Unfinished unfinished = Unfinished::nameless);
  OutputFile(OutputFile&&) noexcept;
  OutputFile& operator=(OutputFile&&) noexcept;
  /// Discards a file that was not committed.
  ~OutputFile();

  Status write(std::string_view bytes);
  /// Moves the complete file to its path. Nothing may be written afterwards.
  Status commit();
  /// The same if the path is still free; if a file has appeared there meanwhile, keeps that one, discards this one and returns false.
  Result<bool> commit_if_first();
  /// The descriptor through which a child process may write to the file.
  [[nodiscard]] int descriptor() const;

 private:
  struct State;
  explicit OutputFile(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Checks, before long work, that a file can be created or replaced at `path`; the Error gives the reason. Leaves nothing there.
Status check_writable(const std::string& path);

/// Removes the files that have a name and are not finished. For the handler of a signal that ends the process, and safe there.
void remove_unfinished_files() noexcept;

}  // namespace cleave
