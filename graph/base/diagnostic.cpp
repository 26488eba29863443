// The table of kinds, the list of diagnostics and the -W flags.
#include "graph/base/diagnostic.h"

#include <algorithm>

namespace cleave {
namespace {

bool take(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

/// Kinds that a flag may name.
std::optional<DiagnosticKind> parse_optional_kind(std::string_view name) {
  std::optional<DiagnosticKind> kind = parse_diagnostic_kind(name);
  return kind && !info(*kind).always_error ? kind : std::nullopt;
}

/// The words for severities in the list of kinds.
namespace defaults {
constexpr std::optional<Severity> error = Severity::error, warning = Severity::warning, off = std::nullopt;
}

}  // namespace

std::string_view to_string(Severity severity) {
  switch (severity) {
    case Severity::error: return "error";
    case Severity::warning: return "warning";
    case Severity::remark: return "remark";
    case Severity::allowed: return "allowed";
  }
  return "";
}

const std::vector<DiagnosticKindInfo>& diagnostic_kinds() {
  static const std::vector<DiagnosticKindInfo> table = {
// NOLINTNEXTLINE(cppcoreguidelines-macro-usage)
#define CLEAVE_ROW(kind, name, severity, summary) \
  {DiagnosticKind::kind, name, defaults::severity, defaults::severity == Severity::error, summary},
      CLEAVE_DIAGNOSTIC_KINDS(CLEAVE_ROW)
#undef CLEAVE_ROW
  };
  return table;
}

const DiagnosticKindInfo& info(DiagnosticKind kind) {
  return diagnostic_kinds()[static_cast<std::size_t>(kind)];
}

std::optional<DiagnosticKind> parse_diagnostic_kind(std::string_view name) {
  for (const DiagnosticKindInfo& entry : diagnostic_kinds()) {
    if (entry.name == name) return entry.kind;
  }
  return std::nullopt;
}

void Diagnostics::error(DiagnosticKind kind, SourceLocation location, std::string message, std::vector<Note> notes) {
  add({kind, Severity::error, std::move(message), std::move(location), 0, std::move(notes)});
}

bool Diagnostics::has_errors() const {
  return std::any_of(items_.begin(), items_.end(), [](const Diagnostic& d) { return d.severity == Severity::error; });
}

void Diagnostics::sort() {
  std::stable_sort(items_.begin(), items_.end(), [](const Diagnostic& a, const Diagnostic& b) { return before(a.location, b.location); });
}

bool DiagnosticOptions::parse(std::string_view flag) {
  if (flag == "w") return no_warnings = true;
  if (flag == "Rround-trip") return round_trip_remarks = true;
  if (flag == "Rno-round-trip") return round_trip_remarks = false, true;
  if (!take(flag, "W")) return false;
  if (flag == "error") return all_as_error = true;
  if (flag == "no-error") return all_as_error = false, true;
  if (flag == "all" || flag == "extra") {  // kinds named explicitly keep their setting
    if (flag == "all") enabled.emplace(DiagnosticKind::round_trip, true);
    if (flag == "extra") {
      enabled.emplace(DiagnosticKind::transfer_bound, true);
      enabled.emplace(DiagnosticKind::fallback, true);
    }
    return true;
  }
  if (flag == "implicit-copy=to-accelerator" || flag == "implicit-copy=to-host") {
    implicit_copy_direction = flag.substr(flag.find('=') + 1);
    enabled[DiagnosticKind::implicit_copy] = true;
    return true;
  }
  std::map<DiagnosticKind, bool>& target = flag.starts_with("error=") || flag.starts_with("no-error=") ? as_error : enabled;
  const bool on = !take(flag, "no-");
  take(flag, "error=");
  std::optional<DiagnosticKind> kind = parse_optional_kind(flag);
  if (!kind) return false;
  target[*kind] = on;
  // As in clang, the last flag for a kind counts: making it an error enables it, and disabling it makes it no error.
  if (&target == &as_error && on) enabled[*kind] = true;
  if (&target == &enabled && !on) std::erase_if(as_error, [&](const auto& raised) { return raised.first == *kind && raised.second; });
  if (on && &target == &enabled && kind == DiagnosticKind::implicit_copy) implicit_copy_direction.clear();
  return true;
}

std::optional<Severity> DiagnosticOptions::severity_of(DiagnosticKind kind) const {
  const DiagnosticKindInfo& entry = info(kind);
  if (entry.always_error) return Severity::error;
  auto switched = enabled.find(kind);
  auto raised = as_error.find(kind);
  const bool raise = raised != as_error.end() ? raised->second : all_as_error;
  const bool raised_by_name = raised != as_error.end() && raised->second;
  bool on = entry.severity.has_value() || raised_by_name;
  if (switched != enabled.end()) on = switched->second;
  if (!on || no_warnings) return std::nullopt;
  return raise ? Severity::error : entry.severity.value_or(Severity::warning);
}

}  // namespace cleave
