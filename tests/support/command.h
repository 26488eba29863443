// Runs a command as a user would and returns its output and exit code. For tests of the command line and of the documents.
#pragma once

#include <string>

#include "tests/support/namespaces.h"
#include "tests/support/places.h"
#include "tests/support/temporary_folder.h"

namespace cleave::testing {

struct CommandResult {
  int code = -1;  ///< exit status; 128 + signal number if a signal ended the command
  std::string out, err;
};

/// `bash -c command` in `folder`, with the built `cleave` first on PATH and no terminal.
CommandResult run_command(const std::string& command, const std::string& folder = source_dir());

/// The standard error of `check`, `explain` and `run` without its last line, the breakdown of a run's time.
std::string without_account(const std::string& err);

std::string read_file(const std::string& path);
void write_file(const std::string& path, const std::string& text);
using test::TemporaryFolder;

/// CLEAVE_UPDATE_GOLDEN=1: golden files are rewritten instead of compared.
bool updating_golden();

}  // namespace cleave::testing
