// The text of a model, followed by those of the files that it includes, with its lines, and the list of mistakes found in it. Every
// location in a model is a Span of byte offsets until it is reported; line and column are computed only here.
#pragma once

#include <cstddef>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "graph/base/diagnostic.h"
#include "graph/base/source_location.h"

namespace cleave::models {

/// Bytes [begin, end) of the model's text.
struct Span {
  std::size_t begin = 0, end = 0;
};

class Source {
 public:
  Source(std::string_view text, const std::string& file);

  [[nodiscard]] const std::string& text() const { return text_; }  ///< without a byte order mark
  [[nodiscard]] std::string_view at(Span span) const { return std::string_view(text_).substr(span.begin, span.end - span.begin); }
  [[nodiscard]] SourceLocation location(std::size_t offset) const;
  [[nodiscard]] SourceLocation whole_file() const { return {files_.front().name, 0, 0, nullptr}; }
  [[nodiscard]] std::size_t line_begin(std::size_t offset) const;
  [[nodiscard]] std::size_t line_end(std::size_t offset) const;  ///< without line break and trailing blanks
  /// Adds the text of an included file; returns the offset at which it begins.
  std::size_t append(std::string_view text, const std::string& file);
  /// `path` relative to the model's folder.
  [[nodiscard]] std::string resolve(const std::string& path) const;

 private:
  struct File {
    std::shared_ptr<const std::string> name;
    std::size_t begin = 0;       ///< where its text begins
    std::size_t first_line = 0;  ///< index into line_begins_
    int mark = 0;                ///< bytes of the byte order mark that was left out
  };
  std::string text_;
  std::vector<File> files_;  ///< the model first
  std::vector<std::size_t> line_begins_;
};

/// The mistakes found by the reader. Each is kept once, even if its line is evaluated several times.
class Errors {
 public:
  explicit Errors(const Source& source) : source_(source) {}

  void add(DiagnosticKind kind, Span span, std::string message, std::vector<Note> notes = {});
  /// Adds a mistake at a location made by the caller, with `length` bytes underlined.
  void add_at(DiagnosticKind kind, SourceLocation location, int length, std::string message, std::vector<Note> notes = {});
  /// Adds the mistakes found in an included file, each with `note`.
  void add_all(const Errors& others, const Note& note);
  /// Adds a remark: not a mistake, but possibly surprising.
  void remark(DiagnosticKind kind, Span span, std::string message);
  void warn(DiagnosticKind kind, Span span, std::string message);
  /// "; did you mean `x`?", or nothing if no candidate is near.
  [[nodiscard]] std::string suggest(std::string_view word, const std::vector<std::string>& candidates) const;
  [[nodiscard]] Note note(Span span, std::string message) const;

  [[nodiscard]] bool any() const { return !found_.empty(); }
  /// Whether there are so many mistakes that reading on is useless.
  [[nodiscard]] bool full() const { return found_.size() >= kMost; }
  [[nodiscard]] const Diagnostics& found() const { return found_; }
  [[nodiscard]] const Diagnostics& remarks() const { return remarks_; }  ///< and warnings
  [[nodiscard]] const Source& source() const { return source_; }

  /// Sets the chain of calls through which the location being read was reached.
  void set_via(std::shared_ptr<const SourceFrame> via) { via_ = std::move(via); }

 private:
  static constexpr std::size_t kMost = 100;
  const Source& source_;
  Diagnostics found_, remarks_;
  std::set<std::tuple<std::string, int, int, std::string>> seen_;
  std::shared_ptr<const SourceFrame> via_;
};

/// "a `:` is missing behind `word`"
[[nodiscard]] std::string missing_colon(std::string_view word);
/// `text` as a quoted YAML scalar, for advice where YAML would read the unquoted text differently.
[[nodiscard]] std::string quoted(std::string_view text);
/// `text` without blanks at both ends.
[[nodiscard]] std::string_view trimmed(std::string_view text);

}  // namespace cleave::models
