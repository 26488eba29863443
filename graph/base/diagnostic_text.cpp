// to_text: formats diagnostics for people. diagnostic_sarif.cpp formats them for tools.
#include "graph/base/diagnostic_text.h"

#include <algorithm>

#include "graph/base/source_lines.h"
#include "graph/base/utf8.h"

namespace cleave {
namespace {

constexpr int kMostFrames = 16;  ///< largest number of frames of a chain that are shown

constexpr std::string_view kReset = "\033[0m";
constexpr std::string_view kBold = "\033[1m";
constexpr std::string_view kRed = "\033[1;31m";
constexpr std::string_view kGreen = "\033[1;32m";
constexpr std::string_view kMagenta = "\033[1;35m";
constexpr std::string_view kCyan = "\033[1;36m";
constexpr std::string_view kBlue = "\033[1;34m";

std::string_view color_of(Severity severity) {
  switch (severity) {
    case Severity::error: return kRed;
    case Severity::warning: return kMagenta;
    case Severity::remark: return kBlue;
    case Severity::allowed: return kCyan;
  }
  return kBold;
}

/// The flag that governs the diagnostic, as `[-Wround-trip]`, or nothing for plain errors.
std::string flag_of(const Diagnostic& diagnostic) {
  const DiagnosticKindInfo& kind = info(diagnostic.kind);
  if (kind.always_error) return "";
  const char* prefix = diagnostic.severity == Severity::error ? "-Werror=" : diagnostic.severity == Severity::remark ? "-R" : "-W";
  return " [" + (prefix + std::string(kind.name)) + "]";
}

/// " [apply: 3f2a]" for advice that `cleave apply` can carry out, else empty.
std::string fixes_at(std::size_t note, const std::vector<const Fix*>& fixes) {
  std::string text;
  for (const Fix* fix : fixes)
    if (fix->note == note) text += " [apply: " + fix->shown_id() + "]";
  return text;
}

class DiagnosticText {
 public:
  explicit DiagnosticText(const TextStyle& style) : style_(style) {}

  void write(const Diagnostic& diagnostic, const std::vector<Fix>& all_fixes) {
    const std::vector<const Fix*> fixes = fixes_of(diagnostic, all_fixes);
    head(diagnostic.location, to_string(diagnostic.severity), color_of(diagnostic.severity), diagnostic.message,
         flag_of(diagnostic) + fixes_at(Advice::kInMessage, fixes));
    snippet(diagnostic.location, diagnostic.length);
    chain(diagnostic.location);
    for (std::size_t i = 0; i < diagnostic.notes.size(); ++i) {
      const Note& note = diagnostic.notes[i];
      head(note.location, "note", kCyan, note.message, fixes_at(i, fixes));
      snippet(note.location, note.length);
      if (note.location.via != diagnostic.location.via) chain(note.location);
    }
  }

  void write(const Error& error) {
    head(error.location, "error", kRed, error.message, "");
    snippet(error.location, 0);
    chain(error.location);
  }

  std::string take() { return std::move(text_); }

 private:
  void paint(std::string_view color, std::string_view text) {
    if (style_.color) text_ += color;
    text_ += text;
    if (style_.color) text_ += kReset;
  }

  void head(const SourceLocation& location, std::string_view label, std::string_view color, std::string_view message,
            std::string_view flag) {
    const bool said = location.file && location.line <= 0 && message.find("`" + *location.file + "`") != std::string_view::npos;
    if (location.file && !said) {
      paint(kBold, escape_controls_one_line(to_string(location)) + ":");
      text_ += ' ';
    }
    paint(color, std::string(label) + ":");
    text_ += ' ';
    text_ += escape_controls_one_line(message);
    text_ += flag;
    text_ += '\n';
  }

  void snippet(const SourceLocation& location, int length) {
    if (!style_.source || !location.known()) return;
    const std::string* line = lines_.line(location);
    if (!line) return;
    const Excerpt piece = excerpt(*line, location.column, length);
    std::string number = std::to_string(location.line);
    number.insert(0, number.size() < 5 ? 5 - number.size() : 0, ' ');
    text_ += number + " | " + piece.text + "\n";
    if (location.column <= 0) return;
    text_ += std::string(number.size(), ' ') + " | " + std::string(piece.begin, ' ');
    paint(kGreen, "^" + std::string(piece.length - 1, '~'));
    text_ += '\n';
  }

  void chain(const SourceLocation& location) {
    int shown = 0;
    const SourceLocation* from = &location;
    for (const SourceFrame* frame = location.via.get(); frame; frame = frame->location.via.get()) {
      if (++shown > kMostFrames) {
        head({}, "note", kCyan, "further scopes are not shown", "");
        return;
      }
      const bool moved = !(frame->location == *from);  // false for a composite function's call, which has the same location
      head(frame->location, "note", kCyan, scope_phrase(*frame) + (moved ? ", from here" : ""), "");
      from = &frame->location;
    }
  }

  TextStyle style_;
  SourceLines lines_;
  std::string text_;
};

}  // namespace

std::string to_text(const Diagnostic& diagnostic, const TextStyle& style) {
  DiagnosticText writer(style);
  writer.write(diagnostic, {});
  return writer.take();
}

std::string to_text(const Diagnostics& diagnostics, const TextStyle& style, const std::vector<Fix>& fixes) {
  DiagnosticText writer(style);
  for (const Diagnostic& diagnostic : diagnostics) writer.write(diagnostic, fixes);
  return writer.take();
}

std::string to_text(const Error& error, const TextStyle& style) {
  DiagnosticText writer(style);
  writer.write(error);
  return writer.take();
}

}  // namespace cleave
