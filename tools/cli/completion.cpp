// `cleave completion`: writes completion scripts for shells, and the manual page.
#include "tools/cli/manual.h"
#include "tools/cli/session.h"

namespace cleave::cli {
namespace {

std::string joined(const std::vector<std::string>& words, const char* between = " ") {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : between) + word;
  return text;
}

/// Quotes a text for a shell, in single quotes.
std::string shell_quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? "'\\''" : std::string(1, c);
  return out + "'";
}

std::vector<std::string> command_names(const Manual& manual) {
  std::vector<std::string> names;
  for (const CommandInfo& command : manual.commands) names.push_back(command.name);
  return names;
}

/// All words for a flag: its names, or its name joined with each attached value.
std::vector<std::string> words_of(const FlagInfo& flag) {
  std::vector<std::string> words = flag.names;
  if (!flag.attached) return words;
  words.clear();
  for (const std::string& choice : flag.choices) words.push_back(flag.names.front() + choice);
  return words;
}

/// The known choices for a command's operands.
std::vector<std::string> choices_of(const CommandInfo& command) {
  std::vector<std::string> choices;
  for (const CommandInfo::Operand& operand : command.operands)
    choices.insert(choices.end(), operand.choices.begin(), operand.choices.end());
  return choices;
}

std::vector<std::string> words_of(const std::vector<FlagInfo>& flags) {
  std::vector<std::string> words;
  for (const FlagInfo& flag : flags)
    for (std::string& word : words_of(flag)) words.push_back(std::move(word));
  return words;
}

// --- bash -------------------------------------------------------------------------------------------------------------------------

constexpr const char* kBashHead = R"(# Completion of cleave for bash; written by `cleave completion bash`.
_cleave() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} command= words= i
  # bash takes the = of --flag=value for a word of its own
  if [[ $current == = ]]; then current=; elif [[ $previous == = ]]; then previous=${COMP_WORDS[COMP_CWORD-2]}; fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    if [[ ${COMP_WORDS[i]} != -* ]]; then command=${COMP_WORDS[i]}; break; fi
  done
)";

void put_bash_case(std::string& out, const std::string& command, const FlagInfo& flag) {
  if (flag.value.empty() || flag.attached) return;
  std::vector<std::string> patterns;
  for (const std::string& name : flag.names) patterns.push_back("'" + command + " " + name + "'");
  out += "    " + joined(patterns, "|") + ") ";
  if (!flag.choices.empty()) out += "COMPREPLY=($(compgen -W '" + joined(flag.choices) + "' -- \"$current\")); ";
  out += "return ;;\n";  // without a completion, bash offers files
}

}  // namespace

std::string bash_completion(const Manual& manual) {
  std::string out = kBashHead;
  out += "  case \"$command $previous\" in\n";
  for (const CommandInfo& command : manual.commands)
    for (const FlagInfo& flag : command.flags) put_bash_case(out, command.name, flag);
  out += "  esac\n  case $command in\n    '') words=" + shell_quoted(joined(command_names(manual)) + " " + joined(words_of(manual.flags))) +
         " ;;\n";
  for (const CommandInfo& command : manual.commands)
    out += "    " + command.name + ") words=" + shell_quoted(joined(words_of(command.flags)) + " " + joined(choices_of(command))) + " ;;\n";
  out += "  esac\n";
  out +=
      "  if [[ -z $command || $current == -* || $command == completion ]]; then COMPREPLY=($(compgen -W \"$words\" -- \"$current\")); fi\n";
  return out + "}\ncomplete -o bashdefault -o default -F _cleave cleave\n";
}

// --- zsh --------------------------------------------------------------------------------------------------------------------------

namespace {

/// Escapes `[`, `]` and `:`, which are special in a specification of _arguments.
std::string zsh_text(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

void put_zsh_flag(std::string& out, const FlagInfo& flag) {
  const std::string action = !flag.choices.empty() ? "(" + joined(flag.choices) + ")" : flag.file ? "_files" : " ";
  for (const std::string& name : flag.names) {
    std::string spec = "*" + name + (flag.attached ? "-" : flag.value.empty() ? "" : name.starts_with("--") ? "=" : "");
    spec += "[" + zsh_text(flag.description) + "]";
    if (!flag.value.empty()) spec += ":" + zsh_text(flag.value) + ":" + action;
    out += " \\\n        " + shell_quoted(spec);
  }
}

}  // namespace

std::string zsh_completion(const Manual& manual) {
  std::string out = "#compdef cleave\n# Completion of cleave for zsh; written by `cleave completion zsh`.\n_cleave() {\n";
  out += "  local curcontext=\"$curcontext\" state line\n  local -a commands\n  commands=(\n";
  for (const CommandInfo& command : manual.commands)
    out += "    " + shell_quoted(command.name + ":" + zsh_text(command.description)) + "\n";
  out += "  )\n  _arguments -C";
  for (const FlagInfo& flag : manual.flags) put_zsh_flag(out, flag);
  out += " \\\n        '1:command:->command' '*::argument:->argument'\n";
  out += "  case $state in\n    command) _describe command commands ;;\n    argument)\n      case $words[1] in\n";
  for (const CommandInfo& command : manual.commands) {
    out += "      " + command.name + ") _arguments";
    for (const FlagInfo& flag : command.flags) put_zsh_flag(out, flag);
    for (std::size_t i = 0; i < command.operands.size(); ++i) {
      const CommandInfo::Operand& operand = command.operands[i];
      const std::string action = operand.file ? "_files" : operand.choices.empty() ? " " : "(" + joined(operand.choices) + ")";
      out += " \\\n        " + shell_quoted(std::to_string(i + 1) + ":" + operand.name + ":" + action);
    }
    out += " ;;\n";
  }
  return out +
         "      esac ;;\n  esac\n}\nif [[ $zsh_eval_context[-1] == loadautofunc ]]; then _cleave \"$@\"; else compdef _cleave cleave; fi\n";
}

// --- fish -------------------------------------------------------------------------------------------------------------------------

namespace {

void put_fish_flag(std::string& out, const std::string& condition, const FlagInfo& flag) {
  if (flag.attached) {
    out += "complete -c cleave -n " + shell_quoted(condition) + " -a " + shell_quoted(joined(words_of(flag))) + " -d " +
           shell_quoted(flag.description) + "\n";
    return;
  }
  out += "complete -c cleave -n " + shell_quoted(condition);
  for (const std::string& name : flag.names) out += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  if (!flag.choices.empty())
    out += " -x -a " + shell_quoted(joined(flag.choices));
  else if (!flag.value.empty())
    out += flag.file ? " -r -F" : " -x";
  out += " -d " + shell_quoted(flag.description) + "\n";
}

}  // namespace

std::string fish_completion(const Manual& manual) {
  std::string out = "# Completion of cleave for fish; written by `cleave completion fish`.\n";
  for (const FlagInfo& flag : manual.flags) put_fish_flag(out, "__fish_use_subcommand", flag);
  for (const CommandInfo& command : manual.commands) {
    const std::string inside = "__fish_seen_subcommand_from " + command.name;
    out += "complete -c cleave -f -n __fish_use_subcommand -a " + command.name + " -d " + shell_quoted(command.description) + "\n";
    if (const std::vector<std::string> choices = choices_of(command); !choices.empty())
      out += "complete -c cleave -f -n " + shell_quoted(inside) + " -a " + shell_quoted(joined(choices)) + "\n";
    for (const FlagInfo& flag : command.flags) put_fish_flag(out, inside, flag);
  }
  return out;
}

int completion_command(const Options& options) {
  const Console console(options);
  const Manual known = manual();
  console.document(options.shell == "bash"   ? bash_completion(known)
                   : options.shell == "zsh"  ? zsh_completion(known)
                   : options.shell == "fish" ? fish_completion(known)
                                             : manual_page(known));
  return kDone;
}

}  // namespace cleave::cli
