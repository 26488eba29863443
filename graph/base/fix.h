// Advice and Fix: proposed edits of the user's program, in two forms. The planner, which knows no source language, describes an edit by
// program locations (Advice). A reader, which knows the file's text, turns it into a Fix (models/fixes.h): an ID and text replacements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "graph/base/diagnostic.h"
#include "graph/base/source_location.h"

namespace cleave {

/// The message that an Advice belongs to. Equal messages at one place have equal advice.
struct AdvisedMessage {
  DiagnosticKind kind = DiagnosticKind::round_trip;
  SourceLocation location;
  std::string message;

  /// True also for a folded message, whose text ends with the number of messages.
  [[nodiscard]] bool is(const Diagnostic& diagnostic) const {
    return kind == diagnostic.kind && location == diagnostic.location && diagnostic.message.starts_with(message);
  }
};

struct Advice {
  enum class Action : std::uint8_t {
    remove_pin,           ///< removes the pin of the statement at `places[0]`
    mark_to_host,         ///< marks the use of `name`, computed at `made`, by the operation at `at`
    mark_to_accelerator,  ///< the same for the other direction
    move_out,             ///< moves the statements at `places` before `loop`
    remove_statement,     ///< removes the statement at `places[0]`
  };
  struct Place {
    SourceLocation at;    ///< location of an operation
    std::string name;     ///< for marks: name of the value that is read; may be empty
    SourceLocation made;  ///< marks: where that value is computed
  };
  /// Value of `note` for advice that stands in the message itself.
  static constexpr std::size_t kInMessage = std::numeric_limits<std::size_t>::max();

  Action action = Action::remove_pin;
  std::vector<Place> places;
  SourceLocation loop;
  double saved_seconds = 0;  ///< predicted reduction of a run's time, from planning the edited program
  std::size_t note = kInMessage;
  AdvisedMessage said = {};
};

/// Replaces the text from one place to another. Lines and columns from 1, columns in bytes; the end is exclusive.
struct TextEdit {
  int line = 0, column = 0, end_line = 0, end_column = 0;
  std::string text;
};

struct Fix {
  std::string id;                ///< argument of `cleave apply`: hexadecimal digits, unchanged by edits elsewhere in the file
  std::size_t shown_digits = 4;  ///< number of leading digits that are unique in its list
  std::string title;             ///< description of the edit: "remove `place: host` of `scaled`"
  std::string file;              ///< the name that locations have
  std::vector<TextEdit> edits;   ///< sorted, without overlaps
  double saved_seconds = 0;      ///< that of the Advice
  std::size_t note = Advice::kInMessage;
  AdvisedMessage said = {};

  [[nodiscard]] std::string shown_id() const { return id.substr(0, shown_digits); }
};

/// The fixes of one message, each once.
std::vector<const Fix*> fixes_of(const Diagnostic& diagnostic, const std::vector<Fix>& fixes);

}  // namespace cleave
