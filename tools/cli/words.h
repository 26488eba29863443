// The words of a command line, read by the Manual before CLI11 reads them: mistakes in commands, flags and operands are told here with the
// nearest word that there is. Knows no meaning of a flag.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/cli/manual.h"

namespace cleave::cli {

/// "; `cleave run --help` lists them".
[[nodiscard]] std::string see_help(const std::string& command, const char* what);

/// What is wrong with the words behind `cleave`: an unknown command or flag, an operand too many or too few. Nothing if that is all fine;
/// values of flags are not looked at.
[[nodiscard]] std::optional<std::string> usage_mistake(const std::vector<std::string>& words, const Manual& manual);

/// `help` becomes `--help`, `help COMMAND` becomes `COMMAND --help`, and no word at all `--help`.
[[nodiscard]] std::vector<std::string> with_help_flag(std::vector<std::string> words);

/// Writes to each flag whose value may be left out the value it has (`--profile=seen.json`): CLI11 takes the next word for it otherwise.
[[nodiscard]] std::vector<std::string> with_optional_values(std::vector<std::string> words, const Manual& manual);

}  // namespace cleave::cli
