// Manual: the commands and flags of the command line as a value, made from the definitions that parse them (options.cpp). Shell completions
// and the manual page are written from it, so that they always list the same flags.
#pragma once

#include <string>
#include <vector>

namespace cleave::cli {

struct FlagInfo {
  std::vector<std::string> names;  ///< as written: "-o", "--device"
  std::string value;               ///< placeholder of the value, as in the help: "DEVICE"; empty: no value
  std::string description;
  std::vector<std::string> choices;  ///< possible values; not all, if others are accepted too
  bool file = false;                 ///< the value is a file
  bool attached = false;             ///< the value is part of the same word, as in -Wround-trip
};

struct CommandInfo {
  std::string name, description, example;
  struct Operand {
    std::string name;  ///< MODEL, PROBLEM, ID
    std::string description;
    std::vector<std::string> choices;  ///< possible values
    bool file = false;
  };
  std::vector<Operand> operands;  ///< all are required
  std::vector<FlagInfo> flags;
};

struct Manual {
  std::string description, exit_codes;
  std::vector<FlagInfo> flags;  ///< flags without a command
  std::vector<CommandInfo> commands;
};
Manual manual();

/// Completion scripts for bash, zsh and fish.
std::string bash_completion(const Manual& manual);
std::string zsh_completion(const Manual& manual);
std::string fish_completion(const Manual& manual);
/// The manual page, cleave.1.
std::string manual_page(const Manual& manual);

}  // namespace cleave::cli
