#include "models/reader/source.h"

#include <algorithm>
#include <filesystem>

#include "graph/base/spelling.h"

namespace cleave::models {

Source::Source(std::string_view text, const std::string& file) {
  append(text, file);
}

std::size_t Source::append(std::string_view text, const std::string& file) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  int mark = 0;
  if (text.starts_with(kByteOrderMark)) {
    mark = static_cast<int>(kByteOrderMark.size());
    text.remove_prefix(kByteOrderMark.size());
  }
  if (!text_.empty()) text_ += '\n';
  const std::size_t begin = text_.size();
  files_.push_back({std::make_shared<const std::string>(file), begin, line_begins_.size(), mark});
  text_ += text;
  line_begins_.push_back(begin);
  for (std::size_t i = begin; i < text_.size(); ++i) {
    if (text_[i] == '\n') line_begins_.push_back(i + 1);
  }
  return begin;
}

SourceLocation Source::location(std::size_t offset) const {
  const auto file =
      std::prev(std::upper_bound(files_.begin(), files_.end(), offset, [](std::size_t at, const File& each) { return at < each.begin; }));
  const auto index =
      static_cast<std::size_t>(std::upper_bound(line_begins_.begin(), line_begins_.end(), offset) - line_begins_.begin()) - 1;
  const auto line = static_cast<int>(index - file->first_line) + 1;
  const auto column = static_cast<int>(offset - line_begins_[index]) + 1;
  return {file->name, line, line == 1 ? column + file->mark : column, nullptr};
}

std::size_t Source::line_begin(std::size_t offset) const {
  return *std::prev(std::upper_bound(line_begins_.begin(), line_begins_.end(), offset));
}

std::size_t Source::line_end(std::size_t offset) const {
  const std::size_t begin = line_begin(offset);
  std::size_t end = std::min(text_.find('\n', begin), text_.size());
  while (end > begin && std::string_view(" \t\r").find(text_[end - 1]) != std::string_view::npos) --end;
  return end;
}

std::string Source::resolve(const std::string& path) const {
  const std::filesystem::path given(path);
  if (given.is_absolute()) return path;
  return (std::filesystem::path(*files_.front().name).parent_path() / given).lexically_normal().string();
}

void Errors::add(DiagnosticKind kind, Span span, std::string message, std::vector<Note> notes) {
  const auto end = std::max(span.begin, std::min(span.end, source_.line_end(span.begin)));
  SourceLocation location = source_.location(span.begin);
  location.via = via_;
  add_at(kind, std::move(location), static_cast<int>(end - span.begin), std::move(message), std::move(notes));
}

void Errors::add_at(DiagnosticKind kind, SourceLocation location, int length, std::string message, std::vector<Note> notes) {
  if (full() || !seen_.insert({location.file ? *location.file : std::string(), location.line, location.column, message}).second) return;
  found_.add({kind, Severity::error, std::move(message), std::move(location), length, std::move(notes)});
}

void Errors::add_all(const Errors& others, const Note& note) {
  for (const Diagnostic& each : others.found_) {
    std::vector<Note> notes = each.notes;
    notes.push_back(note);
    add_at(each.kind, each.location, each.length, each.message, std::move(notes));
  }
}

void Errors::remark(DiagnosticKind kind, Span span, std::string message) {
  const int length = static_cast<int>(span.end - span.begin);
  remarks_.add({kind, Severity::remark, std::move(message), source_.location(span.begin), length, {}});
}

void Errors::warn(DiagnosticKind kind, Span span, std::string message) {
  const int length = static_cast<int>(span.end - span.begin);
  remarks_.add({kind, Severity::warning, std::move(message), source_.location(span.begin), length, {}});
}

std::string Errors::suggest(std::string_view word, const std::vector<std::string>& candidates) const {
  return did_you_mean(word, candidates);
}

Note Errors::note(Span span, std::string message) const {
  return {std::move(message), source_.location(span.begin), static_cast<int>(span.end - span.begin)};
}

std::string missing_colon(std::string_view word) {
  return "a `:` is missing after `" + std::string(word) + "`";
}

std::string quoted(std::string_view text) {
  if (text.find_first_of("\"\\") == std::string_view::npos) return "\"" + std::string(text) + "\"";
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? "''" : std::string(1, c);
  return result + "'";
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) + 1 - begin);
}

}  // namespace cleave::models
