// Diagnostics: messages to the user, their kinds (one table), their severity, and the list that a step fills. Rendering as text with source
// line and caret: diagnostic_text.h.
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

// NOLINTBEGIN(cppcoreguidelines-macro-usage): names and table from one list need a macro.
/// Every kind that exists, once: X(enumerator, name as in `-Wround-trip`, severity by default, one line for the reference). Errors cannot
/// be silenced; the others are warnings, or `off` unless a flag asks for them.
#define CLEAVE_DIAGNOSTIC_KINDS(X)                                                                                  \
  X(syntax, "syntax", error, "malformed YAML or expression")                                                        \
  X(unknown, "unknown", error, "an unknown name, op, key or attribute")                                             \
  X(type, "type", error, "element types or the number of operands do not fit")                                      \
  X(shape, "shape", error, "shapes do not fit, or a size overflows")                                                \
  X(value, "value", error, "an attribute or number outside its range")                                              \
  X(carried, "carried", error, "a carried value changes its type")                                                  \
  X(predicate, "predicate", error, "a condition that is no scalar bool")                                            \
  X(endless_loop, "endless-loop", error, "a loop that cannot end")                                                  \
  X(file, "file", error, "a missing, truncated or unreadable file")                                                 \
  X(placement, "placement", error, "pins that contradict each other or cannot be met")                              \
  X(unsupported, "unsupported", error, "valid, but not supported in this version")                                  \
  X(limit, "limit", error, "a limit of the model or of the options is exceeded")                                    \
  X(machine, "machine", error, "the machine failed: out of memory, a device lost")                                  \
  X(round_trip, "round-trip", warning, "the accelerator waits for a host computation on its own values")            \
  X(invariant_host_work, "invariant-host-work", warning, "a loop computes on the host what does not change there")  \
  X(memory_fallback, "memory-fallback", warning, "operations left the accelerator, as its memory is too small")     \
  X(slow_producer, "slow-producer", warning, "the accelerator waits for work of the host that needs nothing of it") \
  X(slow_consumer, "slow-consumer", warning, "the accelerator waits for the host to take what it makes")            \
  X(launch_bound, "launch-bound", warning, "kernels take longer to start than to work")                             \
  X(costly_pin, "costly-pin", warning, "a pin that makes a run longer")                                             \
  X(implicit_copy, "implicit-copy", off, "a send that is not marked as meant")                                      \
  X(transfer_bound, "transfer-bound", off, "transfers or a slow host keep the accelerator waiting")                 \
  X(fallback, "fallback", off, "an op runs on the host for want of an accelerator kernel")                          \
  X(unused, "unused", warning, "an input, parameter or statement that nothing reads")

/// The kinds of messages: CLEAVE_DIAGNOSTIC_KINDS says what each is.
#define CLEAVE_DIAGNOSTIC_ENUMERATOR(kind, ...) kind,
enum class DiagnosticKind { CLEAVE_DIAGNOSTIC_KINDS(CLEAVE_DIAGNOSTIC_ENUMERATOR) };
#undef CLEAVE_DIAGNOSTIC_ENUMERATOR
// NOLINTEND(cppcoreguidelines-macro-usage)

struct DiagnosticKindInfo {
  DiagnosticKind kind;
  std::string_view name;             ///< as in `-Wround-trip`
  std::optional<Severity> severity;  ///< default; nothing: off
  bool always_error;                 ///< cannot be silenced
  std::string_view summary;          ///< one line for the reference
};
/// The kinds as a table, in their order.
const DiagnosticKindInfo& info(DiagnosticKind kind);
const std::vector<DiagnosticKindInfo>& diagnostic_kinds();
std::optional<DiagnosticKind> parse_diagnostic_kind(std::string_view name);

struct Note {
  std::string message;
  SourceLocation location;  ///< may be unknown
  int length = 0;
};

/// The predicted cost of a diagnosed problem in a run. Messages that differ only in their price are folded into one with the sum of their
/// prices.
struct Price {
  double seconds = 0, out_bytes = 0, back_bytes = 0;
  double whole_seconds = 0;  ///< predicted seconds of the whole run
  std::string how_often;     ///< "1000 times a run"
  std::string cause;         ///< only messages with equal causes are folded
  std::string predicted_by;  ///< "machine `h200`, datasheet"
  std::size_t note = 0;      ///< index of the message's note that states the price
};

struct Diagnostic {
  DiagnosticKind kind;
  Severity severity;
  std::string message;  ///< lower case, no full stop, code in backticks
  SourceLocation location;
  int length = 0;  ///< bytes to underline from the column on; 0: the word there
  std::vector<Note> notes;
  std::optional<Price> price = std::nullopt;
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
