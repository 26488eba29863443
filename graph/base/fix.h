// Advice that is an edit of the user's program, in two forms. The planner, which knows no language, states it by places of the program
// (Advice). A reader, which knows the file's text, makes a Fix of it (models/fixes.h): an ID and the pieces of text to replace.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "graph/base/diagnostic.h"
#include "graph/base/source_location.h"

namespace cleave {

/// The message that advice belongs to. Equal messages at one place have equal advice.
struct AdvisedMessage {
  DiagnosticKind kind = DiagnosticKind::round_trip;
  SourceLocation location;
  std::string message;

  /// Also of messages that were folded into one, which then says how many they are.
  [[nodiscard]] bool is(const Diagnostic& diagnostic) const {
    return kind == diagnostic.kind && location == diagnostic.location && diagnostic.message.starts_with(message);
  }
};

struct Advice {
  enum class Action : std::uint8_t {
    remove_pin,           ///< of the statement at `places[0]`
    mark_to_host,         ///< `name`, made at `made`, where the operation at `at` reads it
    mark_to_accelerator,  ///< the same
    move_out,             ///< the statements at `places`, to in front of `loop`
    remove_statement,     ///< at `places[0]`
  };
  struct Place {
    SourceLocation at;    ///< an operation's
    std::string name;     ///< marks: of the value that is read; may be empty
    SourceLocation made;  ///< marks: where that value is computed
  };
  /// The advice stands in the message itself, in none of its notes.
  static constexpr std::size_t kInMessage = std::numeric_limits<std::size_t>::max();

  Action action = Action::remove_pin;
  std::vector<Place> places;
  SourceLocation loop;
  double saved_seconds = 0;  ///< a run is predicted to be over so much sooner, by planning the edited program
  std::size_t note = kInMessage;
  AdvisedMessage said = {};
};

/// Replaces the text from one place to another. Lines and columns from 1, columns in bytes; the end is behind the last byte.
struct TextEdit {
  int line = 0, column = 0, end_line = 0, end_column = 0;
  std::string text;
};

struct Fix {
  std::string id;                ///< of `cleave apply`: hexadecimal digits, equal after edits elsewhere in the file
  std::size_t shown_digits = 4;  ///< so many of these tell it from the others of its list
  std::string title;             ///< what it does: "remove `place: host` of `scaled`"
  std::string file;              ///< as locations name it
  std::vector<TextEdit> edits;   ///< in order; none overlap
  double saved_seconds = 0;      ///< as the advice's
  std::size_t note = Advice::kInMessage;
  AdvisedMessage said = {};

  [[nodiscard]] std::string shown_id() const { return id.substr(0, shown_digits); }
};

/// The fixes of one message, each once.
std::vector<const Fix*> fixes_of(const Diagnostic& diagnostic, const std::vector<Fix>& fixes);

}  // namespace cleave
