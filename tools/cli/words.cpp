#include "tools/cli/words.h"

#include <algorithm>
#include <cctype>

#include "graph/base/spelling.h"

namespace cleave::cli {
namespace {

using Words = std::vector<std::string>;

bool is_flag(const std::string& word) {
  return word.starts_with('-') && word != "-";
}

bool is_optional_value(const FlagInfo& flag) {
  return flag.value.starts_with('[');
}

bool names_model(const std::string& word) {
  return word.ends_with(".yaml") || word.ends_with(".yml") || word.ends_with(".onnx") || word.ends_with(".graph");
}

/// The index of the command: the first word that is no flag.
std::size_t command_position(const Words& words) {
  return static_cast<std::size_t>(std::find_if_not(words.begin(), words.end(), is_flag) - words.begin());
}

const CommandInfo* find_command(const Manual& manual, const std::string& name) {
  const auto found =
      std::find_if(manual.commands.begin(), manual.commands.end(), [&](const CommandInfo& each) { return each.name == name; });
  return found == manual.commands.end() ? nullptr : &*found;
}

/// The flag that `word` names, with or without an attached value; null if unknown.
const FlagInfo* find_flag(const std::vector<FlagInfo>& flags, const std::string& word) {
  const bool is_long = word.starts_with("--");
  const std::string name = is_long ? word.substr(0, word.find('=')) : word.substr(0, 2);
  const auto found = std::find_if(flags.begin(), flags.end(), [&](const FlagInfo& each) {
    return std::find(each.names.begin(), each.names.end(), name) != each.names.end();
  });
  return found == flags.end() ? nullptr : &*found;
}

/// Whether the next word is the value of `flag`, as far as the flag alone tells.
bool takes_next_word(const FlagInfo& flag, const std::string& word) {
  if (flag.value.empty() || is_optional_value(flag)) return false;
  return word.starts_with("--") ? word.find('=') == std::string::npos : word.size() == 2;
}

/// The indices of a command's operands: words that are neither flags nor values of flags, nor the command itself.
std::vector<std::size_t> operands(const Words& words, const CommandInfo& command, std::size_t after) {
  std::vector<std::size_t> found;
  bool flags_ended = false;
  for (std::size_t i = after + 1; i < words.size(); ++i) {
    if (!flags_ended && words[i] == "--") {
      flags_ended = true;
    } else if (flags_ended || !is_flag(words[i])) {
      found.push_back(i);
    } else if (const FlagInfo* flag = find_flag(command.flags, words[i]); flag && takes_next_word(*flag, words[i])) {
      ++i;
    }
  }
  return found;
}

/// Whether `word` is the value of the preceding flag, whose value is optional. A word that names a model is a value only if there is
/// another operand: `run --profile model.yaml` must not take the model for the file, `run model.yaml --profile seen.yaml` must.
bool is_value_of(const FlagInfo& flag, const std::string& word, bool other_operand) {
  if (flag.value == "[N]")
    return !word.empty() && std::all_of(word.begin(), word.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
  return !word.starts_with("-") && (!names_model(word) || other_operand);
}

std::string unknown_command(const std::string& word, const Manual& manual) {
  if (names_model(word)) return "`" + word + "` is no command; did you mean `cleave run " + word + "`?";
  for (const FlagInfo& flag : manual.flags) {
    if (find_flag({flag}, "--" + word)) return "there is no command `" + word + "`; did you mean `cleave --" + word + "`?";
  }
  Words names;
  std::string all;
  for (const CommandInfo& command : manual.commands) {
    names.push_back(command.name);
    all += (all.empty() ? "" : ", ") + command.name;
  }
  const std::string near = did_you_mean(word, names);
  return "there is no command `" + word + "`" + (near.empty() ? "; there are " + all : near);
}

/// The commands that have a flag which the given command lacks.
std::string commands_with(const std::string& name, const Manual& manual) {
  std::string text;
  for (const CommandInfo& command : manual.commands)
    if (find_flag(command.flags, name)) text += (text.empty() ? "" : ", ") + ("`" + command.name + "`");
  return text;
}

std::string unknown_flag(const std::string& word, const std::vector<FlagInfo>& flags, const CommandInfo* command, const Manual& manual) {
  const std::string name = word.substr(0, word.find('='));
  Words names;
  for (const FlagInfo& flag : flags) names.insert(names.end(), flag.names.begin(), flag.names.end());
  const std::string near = did_you_mean(name, names), others = commands_with(name, manual);
  if (!others.empty())
    return "`" + name + "` is a flag of " + others + (command ? ", not of `" + command->name + "`" : "; it stands behind the command");
  return "there is no flag `" + name + "`" + (near.empty() ? see_help(command ? command->name : "", "the flags") : near);
}

std::optional<std::string> operand_mistake(const Words& words, const CommandInfo& command, std::size_t called) {
  const std::vector<std::size_t> given = operands(words, command, called);
  const std::size_t most = command.operands.size();
  if (given.size() > most) {
    const std::string& word = words[given[most]];
    std::string all;
    for (const CommandInfo::Operand& operand : command.operands) all += (all.empty() ? "one " : " and one ") + operand.name;
    return "`" + command.name + "` takes " + (most == 0 ? "no argument" : all) + ", and `" + word + "` is " +
           (most == 0 ? "one" : "another");
  }
  if (given.size() < most) {
    const CommandInfo::Operand& operand = command.operands[given.size()];
    return "`" + command.name + "` needs " + (operand.name == "ID" ? "an " : "a ") + operand.name + ", " + operand.description;
  }
  return std::nullopt;
}

bool asks_for_help(const Words& words) {
  return std::any_of(words.begin(), words.end(), [](const std::string& word) { return word == "--help" || word == "-h"; });
}

/// The mistake in the first unknown flag among `words[begin, end)`.
std::optional<std::string> flag_mistake(const Words& words, std::size_t begin, std::size_t end, const CommandInfo* command,
                                        const Manual& manual) {
  const std::vector<FlagInfo>& flags = command ? command->flags : manual.flags;
  for (std::size_t i = begin; i < end; ++i) {
    if (words[i] == "--") break;
    if (!is_flag(words[i])) continue;
    const FlagInfo* flag = find_flag(flags, words[i]);
    if (!flag) return unknown_flag(words[i], flags, command, manual);
    if (!takes_next_word(*flag, words[i])) continue;
    if (++i == end) return "`" + words[i - 1] + "` needs a value: `" + words[i - 1] + " " + flag->value + "`";
  }
  return std::nullopt;
}

}  // namespace

std::string see_help(const std::string& command, const char* what) {
  return "; `cleave " + (command.empty() ? "" : command + " ") + "--help` lists " + what;
}

std::optional<std::string> usage_mistake(const Words& words, const Manual& manual) {
  const std::size_t called = command_position(words);
  if (std::optional<std::string> wrong = flag_mistake(words, 0, called, nullptr, manual)) return wrong;
  if (called == words.size()) return std::nullopt;
  const CommandInfo* command = find_command(manual, words[called]);
  if (!command) return unknown_command(words[called], manual);
  if (asks_for_help(words)) return std::nullopt;
  if (std::optional<std::string> wrong = flag_mistake(words, called + 1, words.size(), command, manual)) return wrong;
  return operand_mistake(words, *command, called);
}

Words with_help_flag(Words words) {
  if (words.empty()) return {"--help"};
  if (words.front() != "help") return words;
  words.erase(words.begin());
  const std::size_t called = command_position(words);
  if (called == words.size()) return {"--help"};
  return {words[called], "--help"};
}

Words with_optional_values(Words words, const Manual& manual) {
  const std::size_t first = command_position(words);
  const CommandInfo* command = first < words.size() ? find_command(manual, words[first]) : nullptr;
  for (std::size_t i = 0; command && i < words.size(); ++i) {
    const FlagInfo* flag = find_flag(command->flags, words[i]);
    if (!flag || !is_optional_value(*flag) || words[i].find('=') != std::string::npos) continue;
    const bool followed = i + 1 < words.size();
    const std::size_t count = operands(words, *command, first).size();
    const bool value = followed && is_value_of(*flag, words[i + 1], count > command->operands.size());
    words[i] += "=" + (value ? words[i + 1] : flag->value == "[N]" ? "10" : "-");
    if (value) words.erase(words.begin() + static_cast<std::ptrdiff_t>(i) + 1);
  }
  return words;
}

}  // namespace cleave::cli
