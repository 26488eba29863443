// Runs a command as a user would and gives what it printed. For tests of the command line and of the documents.
#pragma once

#include <string>

namespace cleave::testing {

struct CommandResult {
  int code = -1;  ///< exit status; 128 + signal if one ended it
  std::string out, err;
};

/// `bash -c command` in `folder`, with the built `cleave` first on PATH and no terminal.
CommandResult run_command(const std::string& command, const std::string& folder = CLEAVE_SOURCE_DIR);

std::string read_file(const std::string& path);
void write_file(const std::string& path, const std::string& text);
/// A fresh folder that is removed when the object goes.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

/// CLEAVE_UPDATE_GOLDEN=1: golden files are rewritten instead of compared.
bool updating_golden();

}  // namespace cleave::testing
