// OutputFile: a file that is being written. Nothing of it is seen at its path before it is whole, and what is not finished leaves nothing
// behind: not after an error, and, where the file system has files without a name, not even when the process is killed.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "graph/base/result.h"

namespace cleave {

class OutputFile {
 public:
  /// How a file that is not finished lies in its folder: without a name, or, where the file system cannot do that, under a short one.
  enum class Unfinished : std::uint8_t { nameless, named };

  /// Links are followed, also one whose target is yet to be made. What is replaced passes on its owner and its mode; a file that nobody
  /// may write to is an Error. Devices, pipes, `/dev/stdout` and the like are written to directly.
  static Result<OutputFile> create(const std::string& path, Unfinished unfinished = Unfinished::nameless);
  OutputFile(OutputFile&&) noexcept;
  OutputFile& operator=(OutputFile&&) noexcept;
  /// What was not committed was never there.
  ~OutputFile();

  Status write(std::string_view bytes);
  /// Puts the file in its place, whole. Nothing may be written afterwards.
  Status commit();
  /// The same, unless a file has come to lie there meanwhile: that one stays, false is the answer, and this one was never there.
  Result<bool> commit_if_first();
  /// Where a child process writes what belongs into the file.
  [[nodiscard]] int descriptor() const;

 private:
  struct State;
  explicit OutputFile(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Whether a file could be made or replaced at `path`, or why not: to be asked before work that takes long. Leaves nothing there.
Status check_writable(const std::string& path);

/// Removes the files that have a name and are not finished. For the handler of a signal that ends the process, and safe there.
void remove_unfinished_files() noexcept;

}  // namespace cleave
