#include "models/reader/yaml_tree.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <exception>
#include <map>
#include <sstream>

#include "graph/base/file.h"
#include "graph/base/units.h"
#include "graph/base/utf8.h"

namespace cleave::models {
namespace {

constexpr std::size_t kMostTreeDepth = 100;

/// Thrown to end the parse after an error was reported.
struct Stop : std::exception {};

/// Receives the events of yaml-cpp and builds the tree on a stack of open lists and maps.
class TreeBuilder final : public YAML::EventHandler {
 public:
  TreeBuilder(const Source& source, Errors& errors) : source_(source), errors_(errors) {}

  [[nodiscard]] YamlNode take() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (!started_) {
      started_ = true;
      return;
    }
    errors_.add(DiagnosticKind::syntax, word(offset(mark)), "a model file holds one YAML document, but a second begins here; remove `---`");
    throw Stop();
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    YamlNode node;
    node.span = {offset(mark), offset(mark)};
    if (const auto text = spelled_null(node.span.begin); !text.empty()) {
      node.kind = YamlNode::Kind::scalar;
      node.text = text;
      node.span.end += text.size();
    }
    refuse_properties(node, "?", anchor);
    add(std::move(node));
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    YamlNode node;
    node.kind = YamlNode::Kind::broken;
    node.span = word(offset(mark));
    errors_.add(DiagnosticKind::syntax, node.span, "`" + std::string(source_.at(node.span)) + "` is an alias of YAML; models have none");
    add(std::move(node));
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, const std::string& value) override {
    YamlNode node;
    node.kind = YamlNode::Kind::scalar;
    node.text = value;
    node.span = {offset(mark), offset(mark)};
    if (!refuse_properties(node, tag, anchor)) find_extent(node);
    add(std::move(node));
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, YAML::EmitterStyle::value style) override {
    open(YamlNode::Kind::list, mark, tag, anchor, style);
  }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, YAML::EmitterStyle::value style) override {
    open(YamlNode::Kind::map, mark, tag, anchor, style);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapEnd() override { close(); }

 private:
  struct Open {
    YamlNode node;
    YamlNode key;
    bool has_key = false;
    std::map<std::string, Span, std::less<>> keys;
  };

  [[nodiscard]] std::size_t offset(const YAML::Mark& mark) const {
    return std::min(static_cast<std::size_t>(std::max(mark.pos, 0)), source_.text().size());
  }

  [[nodiscard]] Span word(std::size_t begin) const {
    const std::size_t end = source_.text().find_first_of(" \t\r\n,]}", begin);
    return {begin, std::max(begin + 1, std::min(end, source_.text().size()))};
  }

  /// The `-` of an empty list item. YAML gives the location of the next token in the file instead.
  [[nodiscard]] Span dash_before(std::size_t offset) const {
    const std::size_t last = offset == 0 ? std::string::npos : source_.text().find_last_not_of(" \t\r\n", offset - 1);
    return last == std::string::npos ? Span{offset, offset} : Span{last, last + 1};
  }

  /// The `null` or `~` written at `begin`, which YAML reads as nothing; empty if neither is written.
  [[nodiscard]] std::string_view spelled_null(std::size_t begin) const {
    const Span span = word(begin);
    if (begin >= source_.text().size()) return {};
    const std::string_view text = source_.at(span);
    for (const std::string_view null : {"~", "null", "Null", "NULL"}) {
      if (text == null) return text;
    }
    return {};
  }

  bool refuse_properties(YamlNode& node, const std::string& tag, YAML::anchor_t anchor) {
    const bool tagged = tag != "?" && tag != "!" && !tag.empty();
    if (!tagged && anchor == 0) return false;
    node.kind = YamlNode::Kind::broken;
    node.span = word(node.span.begin);
    const std::string text(source_.at(node.span));
    const std::string_view rest = trimmed(source_.at({node.span.begin, std::max(node.span.begin, source_.line_end(node.span.begin))}));
    if (text.starts_with('!')) {
      errors_.add(DiagnosticKind::syntax, node.span, "`" + text + "` is a tag of YAML; write `" + advice_for_tag(rest) + "`");
    } else {
      errors_.add(DiagnosticKind::syntax, node.span, "`" + text + "` is an anchor of YAML; models have none");
    }
    return true;
  }

  static std::string advice_for_tag(std::string_view rest) {
    return rest.size() > 1 && rest[1] != '!' ? "not " + std::string(rest.substr(1)) : quoted(rest);
  }

  void find_extent(YamlNode& node) {
    const std::string& text = source_.text();
    const std::size_t begin = node.span.begin;
    const char first = begin < text.size() ? text[begin] : ' ';
    if (first == '\'' || first == '"') {
      find_quoted_extent(node, first);
    } else if (first == '|' || first == '>') {
      node.style = YamlNode::Style::block;
      node.many_lines = true;
      node.span.end = end_of_words(node.text, source_.line_end(begin));
    } else {
      node.many_lines = text.compare(begin, node.text.size(), node.text) != 0;
      node.span.end = node.many_lines ? end_of_words(node.text, begin) : begin + node.text.size();
    }
  }

  /// The end of a scalar that YAML joined from several lines, starting at `begin`: YAML changes only its blanks.
  [[nodiscard]] std::size_t end_of_words(std::string_view words, std::size_t begin) const {
    const std::string& text = source_.text();
    const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; };
    std::size_t at = begin, end = begin;
    for (const char c : words) {
      if (blank(c)) continue;
      while (at < text.size() && blank(text[at])) ++at;
      if (at >= text.size() || text[at] != c) return std::max(end, source_.line_end(begin));
      end = ++at;
    }
    return end;
  }

  void find_quoted_extent(YamlNode& node, char quote) {
    const std::string& text = source_.text();
    node.style = quote == '\'' ? YamlNode::Style::single_quoted : YamlNode::Style::double_quoted;
    std::size_t i = node.span.begin + 1;
    for (; i < text.size(); ++i) {
      if (text[i] == '\n') node.many_lines = true;
      if (quote == '"' && text[i] == '\\') {
        ++i;
      } else if (text[i] == quote) {
        if (quote == '"' || i + 1 >= text.size() || text[i + 1] != quote) break;
        ++i;
      }
    }
    node.span.end = std::min(i + 1, text.size());
    if (i < text.size()) return;
    node.kind = YamlNode::Kind::broken;
    errors_.add(DiagnosticKind::syntax, node.span, "this quoted text is not closed before the file ends");
  }

  void open(YamlNode::Kind kind, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, YAML::EmitterStyle::value style) {
    Open frame;
    frame.node.kind = kind;
    frame.node.flow = style == YAML::EmitterStyle::Flow;
    frame.node.span = {offset(mark), offset(mark) + 1};
    if (stack_.size() >= kMostTreeDepth) {
      errors_.add(DiagnosticKind::syntax, frame.node.span, "nested too deeply (more than " + std::to_string(kMostTreeDepth) + " levels)");
      throw Stop();
    }
    refuse_properties(frame.node, tag, anchor);
    stack_.push_back(std::move(frame));
  }

  void close() {
    YamlNode node = std::move(stack_.back().node);
    stack_.pop_back();
    add(std::move(node));
  }

  void add(YamlNode node) {
    if (stack_.empty()) {
      root_ = std::move(node);
      return;
    }
    Open& top = stack_.back();
    if (top.node.kind == YamlNode::Kind::list) {
      if (node.kind == YamlNode::Kind::missing) node.span = dash_before(node.span.begin);
      top.node.items.push_back(std::move(node));
    } else if (!top.has_key) {
      top.key = std::move(node);
      top.has_key = true;
    } else {
      add_entry(top, std::move(node));
    }
  }

  void add_entry(Open& top, YamlNode value) {
    top.has_key = false;
    YamlNode key = std::move(top.key);
    if (key.broken()) return;
    if (!key.scalar()) {
      errors_.add(DiagnosticKind::syntax, {key.span.begin, std::max(key.span.end, key.span.begin + 1)}, "a key must be a name");
      return;
    }
    // A missing value gets the location behind its key; YAML gives that of the next token in the file.
    if (value.kind == YamlNode::Kind::missing) value.span = key.span;
    const auto [known, first] = top.keys.emplace(key.text, key.span);
    const bool of_else_if = std::any_of(top.keys.begin(), top.keys.end(), [](const auto& other) { return is_else_if(other.first); });
    if (!first && key.text == "then" && of_else_if) return;  // the mistake is the `elif`, which the statement reports
    if (!first) {
      errors_.add(DiagnosticKind::syntax, key.span, "`" + key.text + "` stands here twice", {errors_.note(known->second, "first here")});
      return;
    }
    top.node.entries.push_back({std::move(key), std::move(value)});
  }

  const Source& source_;
  Errors& errors_;
  std::vector<Open> stack_;
  YamlNode root_;
  bool started_ = false;
};

/// Reports bytes that YAML would misread or fail on before it sees any structure.
bool check_bytes(const Source& source, Errors& errors) {
  const std::string& text = source.text();
  if (static_cast<std::int64_t>(text.size()) > file_limit::kModel) {
    errors.add_at(DiagnosticKind::limit, source.whole_file(), 0,
                  "a model may have " + format_bytes(static_cast<double>(file_limit::kModel)) + "; this file has " +
                      std::to_string(text.size()) + " bytes");
    return false;
  }
  for (std::size_t i = 0; i < text.size();) {
    const Utf8Piece piece = utf8_piece(text, i);
    const char32_t c = piece.character;
    const bool line_end = c == '\r' && text[i + 1] == '\n';
    const bool control = c != '\n' && c != '\t' && !line_end && (c < 0x20 || (c >= 0x7f && c < 0xa0));
    if (!piece.well_formed || control) {
      const bool broken_off = !piece.well_formed && i + piece.length == text.size() && static_cast<unsigned char>(text[i]) >= 0xc2;
      errors.add(DiagnosticKind::syntax, {i, i + 1},
                 broken_off ? "the file ends within a character" : "this byte is no text; a model is UTF-8 without control characters");
      return false;
    }
    i += piece.length;
  }
  return true;
}

}  // namespace

const YamlEntry* YamlNode::find(std::string_view key) const {
  for (const YamlEntry& entry : entries) {
    if (entry.key.text == key) return &entry;
  }
  return nullptr;
}

bool is_else_if(std::string_view key) {
  return key == "elif" || key == "elsif" || key == "elseif" || key == "else if";
}

std::optional<YamlNode> parse_yaml(const Source& source, Errors& errors) {
  if (!check_bytes(source, errors)) return std::nullopt;
  TreeBuilder builder(source, errors);
  try {
    std::istringstream stream(source.text());
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
    return builder.take();
  } catch (const Stop&) {
  } catch (const YAML::Exception& error) {
    explain_yaml_error(error.msg, static_cast<std::size_t>(std::max(error.mark.pos, 0)), errors);
  } catch (const std::bad_alloc&) {
    throw;  // reported by the caller (model.cpp)
  } catch (const std::exception& error) {
    errors.add_at(DiagnosticKind::syntax, source.whole_file(), 0, std::string("this file cannot be read as YAML: ") + error.what());
  }
  return std::nullopt;
}

}  // namespace cleave::models
