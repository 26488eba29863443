#include "models/reader/lexer.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include "graph/base/number_text.h"
#include "graph/op.h"
#include "models/reader/synonyms.h"

namespace cleave::models {
namespace {

bool letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool digit(char c) {
  return c >= '0' && c <= '9';
}

/// Longest first, so that the first match is the longest.
constexpr std::array<std::string_view, 23> kSymbols = {"...", "**", "//", "<<", ">>", "==", "!=", "<=", ">=", "+", "-", "*",
                                                       "/",   "%",  "<",  ">",  "(",  ")",  "[",  "]",  ",",  ":", "="};

struct Advice {
  std::string_view wrong, message;
};
constexpr std::array<Advice, 12> kAdvice = {{{"&&", "write `and`"},
                                             {"||", "write `or`"},
                                             {"&", "write `and`, or bitwise_and(a, b) for bits"},
                                             {"|", "write `or`, or bitwise_or(a, b) for bits"},
                                             {"!", "write `not`"},
                                             {"^", "a power is written `**`"},
                                             {"~", "write `not`"},
                                             {"@", "write matmul(a, b)"},
                                             {".", "there are no methods; write `sum(x)` for `x.sum()`"},
                                             {"?", "write where(condition, a, b)"},
                                             {";", "one statement stands on one line"},
                                             {"{", "a list is written `[a, b]`"}}};

/// Module names that users of other libraries write before an operation.
constexpr std::array<std::string_view, 16> kModules = {"np", "numpy", "jnp", "jax", "torch", "tf", "tensorflow", "math",
                                                       "F",  "nn",    "xp",  "cp",  "cupy",  "K",  "keras",      "scipy"};

class Lexer {
 public:
  Lexer(const ExpressionText& text, Errors& errors) : source_(text), text_(text.text), errors_(errors) {}

  std::optional<std::vector<Token>> run() {
    while (skip_blanks(), at_ < text_.size()) {
      const std::size_t begin = at_;
      Token token;
      if (!read(token)) return std::nullopt;
      token.span = source_.span(begin, at_);
      tokens_.push_back(std::move(token));
    }
    Token end;
    end.span = {source_.place(at_), source_.place(at_)};
    tokens_.push_back(std::move(end));
    return std::move(tokens_);
  }

 private:
  void skip_blanks() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) ++at_;
  }
  [[nodiscard]] char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }

  bool fail(DiagnosticKind kind, std::size_t begin, std::size_t end, std::string message) {
    errors_.add(kind, source_.span(begin, end), std::move(message));
    return false;
  }

  bool read(Token& token) {
    const char c = peek();
    if (digit(c) || (c == '.' && digit(peek(1)))) return number(token);
    if (letter(c)) return name(token);
    if (c == '"' || c == '\'') return text(token);
    return symbol(token);
  }

  bool name(Token& token) {
    const std::size_t begin = at_;
    skip_word();
    const std::size_t first = at_;
    while (peek() == '.' && letter(peek(1))) {
      ++at_;
      skip_word();
    }
    // The names in `np.exp` and `x.sum(0)` are not members of a group; symbol() reports what to write instead.
    if (peek() == '(' || is_module(std::string_view(text_).substr(begin, first - begin))) at_ = first;
    token.kind = Token::Kind::name;
    token.text = text_.substr(begin, at_ - begin);
    return true;
  }

  void skip_word() {
    while (letter(peek()) || digit(peek())) ++at_;
  }

  static bool is_module(std::string_view word) { return std::find(kModules.begin(), kModules.end(), word) != kModules.end(); }

  void digits() {
    while (digit(peek())) ++at_;
  }

  bool number(Token& token) {
    const std::size_t begin = at_;
    bool floating = false;
    digits();
    if (peek() == '.') {
      floating = true;
      ++at_;
      digits();
    }
    if (peek() == 'e' || peek() == 'E') {
      const std::size_t sign = peek(1) == '+' || peek(1) == '-' ? 2 : 1;
      if (digit(peek(sign))) {
        floating = true;
        at_ += sign;
        digits();
      }
    }
    if (letter(peek()) || digit(peek()) || peek() == '.') {
      const std::size_t end = at_;
      while (letter(peek()) || digit(peek()) || peek() == '.') ++at_;
      const std::string number = text_.substr(begin, end - begin);
      const std::string rest = text_.substr(end, at_ - end);
      return fail(DiagnosticKind::syntax, begin, at_,
                  "no number" + (is_name(rest) ? "; a product is written `" + number + " * " + rest + "`" : ""));
    }
    const char* first = text_.data() + begin;
    const char* last = text_.data() + at_;
    const std::optional<double> number = floating ? read_double({first, last}) : 0.0;
    std::uint64_t whole = 0;
    constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    const bool read = number && (floating || std::from_chars(first, last, whole).ec == std::errc());
    if (!read || whole > kMost + 1) return fail(DiagnosticKind::value, begin, at_, "this number is too large");
    token.two_to_63 = whole > kMost;
    token.integer = static_cast<std::int64_t>(std::min(whole, kMost));
    token.floating = *number;
    token.kind = floating ? Token::Kind::floating : Token::Kind::integer;
    return true;
  }

  bool text(Token& token) {
    const std::size_t begin = at_;
    const char quote = text_[at_++];
    for (; at_ < text_.size() && text_[at_] != quote; ++at_) {
      char c = text_[at_];
      if (c == '\n') return fail(DiagnosticKind::syntax, begin, at_, "a text ends on the line on which it begins");
      if (c == '\\') {
        ++at_;
        const char escaped = peek();
        if (escaped == 'n')
          c = '\n';
        else if (escaped == 't')
          c = '\t';
        else if (escaped == '\\' || escaped == '"' || escaped == '\'')
          c = escaped;
        else
          return fail(DiagnosticKind::syntax, at_ - 1, std::min(at_ + 1, text_.size()),
                      R"(a text knows the escapes `\\`, `\"`, `\'`, `\n` and `\t`)");
      }
      token.text += c;
    }
    if (at_ >= text_.size()) {
      if (!report_cut(source_, errors_))
        fail(DiagnosticKind::syntax, begin, text_.size(), std::string("this text is not closed by `") + quote + "`");
      return false;
    }
    ++at_;
    token.kind = Token::Kind::text;
    return true;
  }

  /// Reports `np.tanh(x)`, `x.sum(axis=0)` or `x.T`, with advice what to write instead.
  bool member() {
    std::size_t begin = at_, end = at_, last = at_;
    while (begin > 0 && (letter(text_[begin - 1]) || digit(text_[begin - 1]))) --begin;
    while (end + 1 < text_.size() && text_[end] == '.' && letter(text_[end + 1])) {
      last = end++;
      while (end < text_.size() && (letter(text_[end]) || digit(text_[end]))) ++end;
    }
    if (begin == at_ || end == at_) return false;
    const std::string_view first = std::string_view(text_).substr(begin, at_ - begin);
    const bool module = is_module(first);
    const std::string owner = text_.substr(begin, last - begin), name = text_.substr(last + 1, end - last - 1);
    const std::string arguments = call_behind(end);
    const std::string why = module ? "there are no modules" : "there are no methods";
    std::string advice;
    if (module && find_function(name) && !arguments.empty()) advice = name + "(" + arguments;
    if (!module && find_function(name) && !arguments.empty()) advice = name + "(" + owner + (arguments == ")" ? "" : ", ") + arguments;
    if (!module && last != at_) advice.clear();  // the owner is a member itself
    const bool method = !module && last == at_ && !arguments.empty();
    const std::string instead = !advice.empty() ? "; write `" + advice + "`" : method ? instead_of_method(name, owner) : "";
    fail(DiagnosticKind::syntax, begin, end,
         "`" + text_.substr(begin, end - begin) + "` has no meaning in an expression: " + why + instead);
    return true;
  }

  /// The arguments `axis=0)` of a call `(axis=0)` that begins at `begin`; empty if there is no call, or no closing parenthesis.
  [[nodiscard]] std::string call_behind(std::size_t begin) const {
    if (begin >= text_.size() || text_[begin] != '(') return {};
    int depth = 0;
    for (std::size_t i = begin; i < text_.size(); ++i) {
      depth += text_[i] == '(' ? 1 : text_[i] == ')' ? -1 : 0;
      if (depth == 0) return text_.substr(begin + 1, i - begin);
    }
    return {};
  }

  bool symbol(Token& token) {
    if (peek() == '.' && member()) return false;
    const std::string_view rest = std::string_view(text_).substr(at_);
    for (const std::string_view candidate : kSymbols) {
      if (!rest.starts_with(candidate)) continue;
      token.kind = Token::Kind::symbol;
      token.text = candidate;
      at_ += candidate.size();
      return true;
    }
    for (const auto& [wrong, message] : kAdvice) {
      if (rest.starts_with(wrong)) {
        return fail(DiagnosticKind::syntax, at_, at_ + wrong.size(),
                    "`" + std::string(wrong) + "` is no operator; " + std::string(message));
      }
    }
    std::size_t end = at_ + 1;
    while (end < text_.size() && (static_cast<unsigned char>(text_[end]) & 0xC0U) == 0x80U) ++end;
    return fail(DiagnosticKind::syntax, at_, end, "`" + text_.substr(at_, end - at_) + "` has no meaning in an expression");
  }

  const ExpressionText& source_;
  const std::string& text_;
  Errors& errors_;
  std::size_t at_ = 0;
  std::vector<Token> tokens_;
};

}  // namespace

std::optional<std::vector<Token>> lex(const ExpressionText& text, Errors& errors) {
  return Lexer(text, errors).run();
}

bool is_name(std::string_view text) {
  return !text.empty() && letter(text.front()) && std::all_of(text.begin(), text.end(), [](char c) { return letter(c) || digit(c); });
}

}  // namespace cleave::models
