// Checks the words of a command line against the Manual before CLI11 parses them: reports mistakes in commands, flags and operands with the
// nearest known word. Does not interpret flags.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/cli/manual.h"

namespace cleave::cli {

/// "; `cleave run --help` lists them".
[[nodiscard]] std::string see_help(const std::string& command, const char* what);

/// The first mistake in the words behind `cleave`: an unknown command or flag, too many or too few operands; nothing if there is none.
/// Values of flags are not checked.
[[nodiscard]] std::optional<std::string> usage_mistake(const std::vector<std::string>& words, const Manual& manual);

/// Replaces `help` by `--help`, `help COMMAND` by `COMMAND --help`, and an empty command line by `--help`.
[[nodiscard]] std::vector<std::string> with_help_flag(std::vector<std::string> words);

/// Joins each flag with an optional value to its value (`--profile=seen.json`), since CLI11 would otherwise always take the next word.
[[nodiscard]] std::vector<std::string> with_optional_values(std::vector<std::string> words, const Manual& manual);

}  // namespace cleave::cli
