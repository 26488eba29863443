// What the command line takes, as a value: made from the definitions that parse it (options.cpp), read by what tells others of it: the
// completions of shells and the manual page. So none of them can know another set of flags.
#pragma once

#include <string>
#include <vector>

namespace cleave::cli {

struct FlagInfo {
  std::vector<std::string> names;  ///< as written: "-o", "--device"
  std::string value;               ///< what follows it, as in the help: "DEVICE"; empty: nothing does
  std::string description;
  std::vector<std::string> choices;  ///< values that there are; not all, where others may be given, too
  bool file = false;                 ///< its value is a file
  bool attached = false;             ///< its value is written to it, as in -Wround-trip
};

struct CommandInfo {
  std::string name, description, example;
  std::string operand;  ///< MODEL, PROBLEM; empty: none
  std::string operand_description;
  std::vector<std::string> operands;  ///< values that there are; none: a file
  std::vector<FlagInfo> flags;
};

struct Manual {
  std::string description, exit_codes;
  std::vector<FlagInfo> flags;  ///< without a command
  std::vector<CommandInfo> commands;
};
Manual manual();

/// For bash, zsh or fish.
std::string bash_completion(const Manual& manual);
std::string zsh_completion(const Manual& manual);
std::string fish_completion(const Manual& manual);
/// For man: cleave.1.
std::string manual_page(const Manual& manual);

}  // namespace cleave::cli
