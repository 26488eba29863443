// Writes the manual page in the language of man(7).
#include "graph/base/version.h"
#include "tools/cli/manual.h"

namespace cleave::cli {
namespace {

/// Escapes text for roff: `\` and `-` are special, and so are `.` and `'` at the start of a line.
std::string plain(const std::string& text) {
  std::string out = text.starts_with('.') || text.starts_with('\'') ? "\\&" : "";
  for (const char c : text) {
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else
      out += c;
  }
  return out;
}

void put_flag(std::string& out, const FlagInfo& flag) {
  out += ".TP\n";
  std::string line;
  for (const std::string& name : flag.names) line += (line.empty() ? "" : ", ") + ("\\fB" + plain(name) + "\\fR");
  if (!flag.value.empty()) line += (flag.attached ? "" : " ") + ("\\fI" + plain(flag.value) + "\\fR");
  out += line + "\n" + plain(flag.description) + "\n";
  if (!flag.attached) return;  // the descriptions of other flags list their choices
  out += ".br\n";
  for (const std::string& choice : flag.choices) out += (&choice == &flag.choices.front() ? "" : ", ") + plain(choice);
  out += "\n";
}

}  // namespace

std::string manual_page(const Manual& manual) {
  std::string out = "." + std::string("\\\" Written by `cleave completion man`.\n");
  out += ".TH CLEAVE 1 \"\" \"cleave " + std::string(kVersion) + "\" \"User Commands\"\n";
  out += ".SH NAME\ncleave \\- " + plain(manual.description) + "\n.SH SYNOPSIS\n";
  for (const CommandInfo& command : manual.commands) {
    std::string operands;
    for (const CommandInfo::Operand& operand : command.operands) operands += " \" " + plain(operand.name) + "\"";
    out += ".B cleave " + command.name + "\n.RI [ options ]" + operands + "\n.br\n";
  }
  out += ".SH OPTIONS\n";
  for (const FlagInfo& flag : manual.flags) put_flag(out, flag);
  out += ".SH COMMANDS\n";
  for (const CommandInfo& command : manual.commands) {
    out += ".SS " + command.name + "\n" + plain(command.description) + "\n";
    for (const FlagInfo& flag : command.flags) put_flag(out, flag);
    out += ".PP\nExample:\n.PP\n.RS\n.nf\n" + plain(command.example) + "\n.fi\n.RE\n";
  }
  out += ".SH EXIT STATUS\n" + plain(manual.exit_codes) + "\n";
  out += ".SH ENVIRONMENT\n.TP\n.B NO_COLOR\nno colours, unless\n.B \\-\\-color always\nasks for them\n";
  out +=
      ".TP\n.B XDG_CONFIG_HOME\nthe folder in which\n.B cleave calibrate\nleaves what it measured, in the folder cleave; ~/.config without "
      "it\n";
  return out;
}

}  // namespace cleave::cli
