// What is said to the user: the kinds of messages (one table), how severe they are, one message, and the list that a step fills.
// Rendering as text with source line and caret: diagnostic_text.h.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/base/source_location.h"

namespace cleave {

enum class Severity { error, warning, remark, allowed };
std::string_view to_string(Severity severity);

/// Every kind that exists. Errors cannot be silenced; the others have a default severity or are off.
enum class DiagnosticKind {
  syntax,          ///< malformed YAML or expression
  unknown,         ///< an unknown name, op, key or attribute (with the nearest one)
  type,            ///< element types or number of operands do not fit
  shape,           ///< shapes do not fit, or a size overflows
  value,           ///< an attribute or number outside its range
  carried,         ///< a carried value changes its type
  predicate,       ///< a condition that is no scalar bool
  endless_loop,    ///< a loop that cannot end
  file,            ///< a missing, truncated or unreadable file
  placement,       ///< pins that contradict each other or cannot be met
  unsupported,     ///< valid, but not in this version
  limit,           ///< a limit of the model or options is exceeded
  machine,         ///< the machine failed: out of memory, a device lost
  round_trip,      ///< the accelerator waits while the host computes with its values
  implicit_copy,   ///< a transfer that is not marked as meant
  transfer_bound,  ///< the accelerator waits for transfers or the host more than a tenth of the time
  fallback,        ///< on the host only because the accelerator has no kernel
};

struct DiagnosticKindInfo {
  DiagnosticKind kind;
  std::string_view name;             ///< as in `-Wround-trip`
  std::optional<Severity> severity;  ///< default; nothing: off
  bool always_error;                 ///< cannot be silenced
  std::string_view summary;          ///< one line for the reference
};
/// The one table of kinds, in the order of the enumeration.
const DiagnosticKindInfo& info(DiagnosticKind kind);
const std::vector<DiagnosticKindInfo>& diagnostic_kinds();
std::optional<DiagnosticKind> parse_diagnostic_kind(std::string_view name);

struct Note {
  std::string message;
  SourceLocation location;  ///< may be unknown
  int length = 0;
};

struct Diagnostic {
  DiagnosticKind kind;
  Severity severity;
  std::string message;  ///< lower case, no full stop, code in backticks
  SourceLocation location;
  int length = 0;  ///< bytes to underline from the column on; 0: the word there
  std::vector<Note> notes;
};

/// The diagnostics of one step, in the order found.
class Diagnostics {
 public:
  void add(Diagnostic diagnostic) { items_.push_back(std::move(diagnostic)); }
  void error(DiagnosticKind kind, SourceLocation location, std::string message, std::vector<Note> notes = {});
  [[nodiscard]] bool has_errors() const;
  [[nodiscard]] bool empty() const { return items_.empty(); }
  [[nodiscard]] std::size_t size() const { return items_.size(); }
  [[nodiscard]] auto begin() const { return items_.begin(); }
  [[nodiscard]] auto end() const { return items_.end(); }
  [[nodiscard]] auto begin() { return items_.begin(); }
  [[nodiscard]] auto end() { return items_.end(); }
  void append(const Diagnostics& other) { items_.insert(items_.end(), other.items_.begin(), other.items_.end()); }
  /// Stable order by source position.
  void sort();

 private:
  std::vector<Diagnostic> items_;
};

/// Which kinds are reported and how: `-Wkind`, `-Wno-kind`, `-Werror[=kind]`, `-Wall`, `-Wextra`, `-w`, `-Rkind`.
struct DiagnosticOptions {
  std::map<DiagnosticKind, bool> enabled;   ///< overrides of the defaults
  std::map<DiagnosticKind, bool> as_error;  ///< -Werror=kind
  bool all_as_error = false;                ///< -Werror
  bool no_warnings = false;                 ///< -w
  bool round_trip_remarks = false;          ///< -Rround-trip
  std::string implicit_copy_direction;      ///< "", "to-accelerator" or "to-host"

  /// Reads one flag as written after the dash (`Wround-trip`). False if there is no such flag.
  bool parse(std::string_view flag);
  /// The severity with which `kind` is to be reported, or nothing if it is off.
  [[nodiscard]] std::optional<Severity> severity_of(DiagnosticKind kind) const;
};

}  // namespace cleave
