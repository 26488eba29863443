#include "models/reader/expression.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "graph/op.h"

namespace cleave::models {
namespace {

using Index = std::uint32_t;
using NodeType = ExpressionNode::Kind;

constexpr int kMostExpressionDepth = 200;

/// A binary operator and its precedence; `not`, the signs and `**` have their own rules.
struct Operator {
  std::string_view symbol;
  int strength;
};
constexpr int kNot = 3, kComparison = 4, kSign = 8;
constexpr Operator kBinaryOperators[] = {{"or", 1}, {"and", 2}, {"==", 4}, {"!=", 4}, {"<", 4}, {"<=", 4}, {">", 4},  {">=", 4},
                                         {"<<", 5}, {">>", 5},  {"+", 6},  {"-", 6},  {"*", 7}, {"/", 7},  {"//", 7}, {"%", 7}};

int strength_of(const Token& token) {
  for (const Operator& candidate : kBinaryOperators) {
    if (token.is(candidate.symbol)) return candidate.strength;
  }
  return 0;
}

/// Precedence climbing as in Python. Each function returns the index of the node that it read, or nothing after the first error.
class Parser {
 public:
  Parser(const ExpressionText& text, std::vector<Token> tokens, Errors& errors)
      : text_(text), tokens_(std::move(tokens)), errors_(errors) {}

  std::optional<Expression> whole() {
    const Span begin = peek().span;
    const auto root = binary(1);
    if (!root) return std::nullopt;
    if (!peek().is_end()) return fail_rest(), std::nullopt;
    result_.span = {begin.begin, last_.end};
    return std::move(result_);
  }

  std::optional<ForHead> for_head() {
    ForHead head;
    const bool several = accept("(");
    do {
      if (peek().kind != Token::Kind::name) break;
      head.names.push_back({peek().text, peek().span});
      next();
    } while (several && accept(","));
    if (head.names.empty() || (several && !accept(")")) || !accept("in")) {
      const bool batches = std::any_of(tokens_.begin(), tokens_.end(), [](const Token& token) { return token.is(kBatches); });
      fail(tokens_[0].span,
           batches ? "a loop over batches is written `for: (x, y) in batches(a, b, size=64)`" : "a loop is written `for: i in 100`");
      return std::nullopt;
    }
    auto count = whole();
    if (!count) return std::nullopt;
    head.count = *std::move(count);
    if (!check_range(head.count.nodes.back()) || !check_batches(head)) return std::nullopt;
    return head;
  }

 private:
  using Found = std::optional<Index>;

  /// `range(…)` is no operation: in the head of a loop it becomes a list of its bounds.
  bool check_range(ExpressionNode& root) {
    if (root.kind != NodeType::call || root.text != "range") return true;
    const bool named = std::any_of(root.keywords.begin(), root.keywords.end(), [](const Name& keyword) { return !keyword.text.empty(); });
    if (named || root.parts.empty() || root.parts.size() > 3) {
      fail(root.span, "a range is written `range(stop)`, `range(start, stop)` or `range(start, stop, step)`");
      return false;
    }
    root.kind = NodeType::list;
    return true;
  }

  /// `batches(…)` is no operation either: only it binds several names, each another one.
  bool check_batches(ForHead& head) {
    ExpressionNode& root = head.count.nodes.back();
    const bool batches = root.kind == NodeType::call && root.text == kBatches;
    if (batches) root.kind = NodeType::list;
    if (!batches && head.names.size() > 1) {
      fail(head.names[1].span, "a loop that counts binds one name; only one over `batches(…)` binds several");
      return false;
    }
    return check_distinct(head.names, errors_);
  }

  [[nodiscard]] const Token& peek() const { return tokens_[at_]; }
  const Token& next() {
    last_ = peek().span;
    const Token& token = tokens_[at_];
    if (!token.is_end()) ++at_;
    return token;
  }
  bool accept(std::string_view symbol) {
    if (!peek().is(symbol)) return false;
    next();
    return true;
  }

  std::nullopt_t fail(Span span, std::string message, DiagnosticKind kind = DiagnosticKind::syntax) {
    errors_.add(kind, span, std::move(message));
    return std::nullopt;
  }
  /// Reports that the next token is not the one `wanted`.
  std::nullopt_t fail_expecting(const std::string& wanted) {
    if (peek().is("=") && at_ > 1 && tokens_[at_ - 1].span.end == peek().span.begin) {  // `x += 1`
      const std::string name(source().at(tokens_[0].span)), sign(source().at(tokens_[at_ - 1].span));
      return fail({tokens_[at_ - 1].span.begin, peek().span.end},
                  "`" + sign + "=` binds nothing; write `" + name + ": " + name + " " + sign + " …`");
    }
    if (!peek().is_end()) return fail(peek().span, wanted + " is expected here, not `" + std::string(source().at(peek().span)) + "`");
    if (report_cut(text_, errors_)) return std::nullopt;
    const Span end = peek().span;
    return fail({end.begin, end.begin}, wanted + " is expected here, where the expression ends");
  }
  void fail_rest() {
    const Token& token = peek();
    const std::string found(source().at(token.span));
    if (token.is(":") && binds_element())
      fail({tokens_[0].span.begin, last_.end}, instead_of_element(tokens_[0].text, trimmed(source().at(inner(result_.nodes.back().span)))));
    else if (token.is("="))
      fail(token.span, "`=` binds nothing; write `name: expression` to bind, `==` to compare");
    else if (token.is("if"))
      fail(token.span, "a choice is written where(condition, a, b)");
    else if (token.is("in"))
      fail(token.span, "`in` stands in the head of a loop only: `for: i in 100`");
    else if (token.is(":") && at_ == 1 && tokens_[0].kind == Token::Kind::name && text_.places.empty())
      fail(token.span, "a blank is missing after this `:`; write `" + tokens_[0].text + ": " +
                           std::string(trimmed(text_.text.substr(token.span.end - text_.begin))) + "`");
    else if (token.is(":") && at_ == 1 && tokens_[0].kind == Token::Kind::name)
      fail(token.span, "only what stands behind the `:` of a statement is quoted: `" + tokens_[0].text + ": " +
                           quoted(rest_from(text_.text.find(':') + 1)) + "`");
    else if (token.is(":"))
      fail(token.span, "`:` stands in an index only, as in `x[0:10, :]`");
    else if (token.is(")") || token.is("]"))
      fail(token.span, "nothing is open that `" + found + "` could close");
    else if (token.is(","))
      fail(token.span, "`,` separates arguments and the parts of a list `[a, b]`; this is neither");
    else
      fail(token.span, "an operator is expected here, not `" + found + "`");
  }

  /// Whether `x[i]` has just been read; called when a `:` follows it.
  [[nodiscard]] bool binds_element() const {
    return !result_.nodes.empty() && result_.nodes.back().kind == NodeType::index && tokens_[0].kind == Token::Kind::name &&
           result_.nodes.back().span.begin == tokens_[1].span.begin && result_.nodes.back().span.end == last_.end;
  }
  static Span inner(Span brackets) { return {brackets.begin + 1, brackets.end - 1}; }
  /// The text from `begin` to the end, on one line.
  [[nodiscard]] std::string rest_from(std::size_t begin) const { return std::string(trimmed(text_.text.substr(begin))); }

  [[nodiscard]] const Source& source() const { return errors_.source(); }

  /// Adds a node that ends at the last token read. `begin`: where the node begins, if before `span`.
  Index add(NodeType kind, Span span, std::string text, std::vector<Index> parts = {}, std::size_t begin = std::string::npos) {
    ExpressionNode node;
    node.kind = kind;
    node.span = span;
    node.extent = {std::min(begin, span.begin), last_.end};
    node.text = std::move(text);
    node.parts = std::move(parts);
    result_.nodes.push_back(std::move(node));
    return static_cast<Index>(result_.nodes.size() - 1);
  }
  Index add_literal(Span span, Literal literal) {
    const Index index = add(NodeType::literal, span, "");
    result_.nodes[index].literal = literal;
    return index;
  }

  Found binary(int weakest) {
    if (depth_ >= kMostExpressionDepth)
      return fail(peek().span, "nested too deeply (more than " + std::to_string(kMostExpressionDepth) + " levels)");
    ++depth_;
    const Found result = binary_at_depth(weakest);
    --depth_;
    return result;
  }

  Found binary_at_depth(int weakest) {
    const std::size_t begin = peek().span.begin;
    Found left = peek().is("not") && weakest <= kNot ? unary_not() : sign();
    bool compared = false;
    while (left) {
      const int strength = strength_of(peek());
      if (strength < weakest || strength == 0) break;
      const Token op = next();
      if (strength == kComparison && std::exchange(compared, true)) {
        return fail(op.span, "comparisons do not chain; write `a < b and b < c`");
      }
      if (strength != kComparison) compared = false;
      const Found right = binary(strength + 1);
      if (!right) return right;
      left = add(NodeType::binary, op.span, op.text, {*left, *right}, begin);
    }
    return left;
  }

  Found unary_not() {
    const Token op = next();
    const Found operand = binary(kNot);
    if (!operand) return operand;
    return add(NodeType::unary, op.span, op.text, {*operand});
  }

  /// `-x`, `+x`, `x ** y`: `-x ** 2` is `-(x ** 2)`, `x ** -y` is allowed, `x ** y ** z` is `x ** (y ** z)`.
  Found sign() {
    if (peek().is("-") || peek().is("+")) {
      const Token op = next();
      if (op.is("-") && peek().two_to_63 && !tokens_[at_ + 1].is("**")) {
        const Span span{op.span.begin, next().span.end};
        return add_literal(span, {Literal::Type::integer, std::numeric_limits<std::int64_t>::min(), 0});
      }
      const Found operand = binary(kSign);
      if (!operand) return operand;
      return add(NodeType::unary, op.span, op.text, {*operand});
    }
    const std::size_t begin = peek().span.begin;
    const Found base = postfix();
    if (!base || !peek().is("**")) return base;
    const Token op = next();
    const Found exponent = binary(kSign);
    if (!exponent) return exponent;
    return add(NodeType::binary, op.span, op.text, {*base, *exponent}, begin);
  }

  Found postfix() {
    const std::size_t begin = peek().span.begin;
    Found base = primary();
    while (base && (peek().is("[") || peek().is("("))) {
      if (peek().is("(")) return fail(peek().span, "only a name can be called");
      base = index(*base, begin);
    }
    return base;
  }

  Found index(Index base, std::size_t begin) {
    const Span open = next().span;
    std::vector<Index> parts{base};
    while (!peek().is("]")) {
      const Found part = index_part();
      if (!part) return part;
      parts.push_back(*part);
      if (!accept(",")) break;
    }
    if (!accept("]")) return fail_expecting("`]`");
    return add(NodeType::index, {open.begin, last_.end}, "[]", std::move(parts), begin);
  }

  /// `2`, `:`, `1:`, `:3`, `1:3`, `::2`, `...`, `None`
  Found index_part() {
    const Span begin = peek().span;
    if (accept("...")) return add(NodeType::ellipsis, begin, "...");
    if (accept("None")) return add(NodeType::new_axis, begin, "None");
    std::vector<Index> bounds(3, ExpressionNode::kNone);
    std::size_t colons = 0;
    for (;;) {
      if (!peek().is(":") && !peek().is(",") && !peek().is("]")) {
        const Found bound = binary(1);
        if (!bound) return bound;
        bounds[colons] = *bound;
      }
      if (colons == 2 || !accept(":")) break;
      ++colons;
    }
    if (colons > 0) return add(NodeType::range, {begin.begin, last_.end}, ":", std::move(bounds));
    if (bounds[0] == ExpressionNode::kNone) return fail_expecting("an index");
    return bounds[0];
  }

  Found primary() {
    const Token& token = peek();
    switch (token.kind) {
      case Token::Kind::integer:
        if (token.two_to_63) return fail(next().span, "this number is too large", DiagnosticKind::value);
        return add_literal(next().span, {Literal::Type::integer, token.integer, 0});
      case Token::Kind::floating: return add_literal(next().span, {Literal::Type::floating, 0, token.floating});
      case Token::Kind::text: return add(NodeType::text, next().span, token.text);
      case Token::Kind::name: return name();
      case Token::Kind::symbol: break;
      case Token::Kind::end: return fail_expecting("a value");
    }
    if (token.is("(")) return parenthesis();
    if (token.is("[")) return list();
    return fail_expecting("a value");
  }

  Found name() {
    const Token token = peek();
    if (token.is("true") || token.is("false")) {
      next();
      return add_literal(token.span, {Literal::Type::boolean, token.is("true") ? 1 : 0, 0});
    }
    if (token.is("True") || token.is("False")) return fail(token.span, "write `true` or `false`");
    if (token.is("not")) return fail(token.span, "`not` binds less tightly than this; put it in parentheses: `(not x)`");
    const auto& reserved = reserved_words();
    if (std::find(reserved.begin(), reserved.end(), token.text) != reserved.end()) return fail_expecting("a value");
    next();
    if (accept("(")) return call(token);
    return add(NodeType::name, token.span, token.text);
  }

  Found call(const Token& callee) {
    std::vector<Index> parts;
    std::vector<Name> keywords;
    while (!peek().is(")")) {
      Name keyword;
      if (peek().kind == Token::Kind::name && tokens_[at_ + 1].is("=")) {
        keyword = {peek().text, peek().span};
        at_ += 2;
      } else if (!keywords.empty() && !keywords.back().text.empty()) {
        return fail_expecting("a named argument `name=value`");
      }
      const Found part = binary(1);
      if (!part) return part;
      parts.push_back(*part);
      keywords.push_back(std::move(keyword));
      if (!accept(",")) break;
    }
    if (!accept(")")) return fail_expecting("`,` or `)`");
    const Index result = add(NodeType::call, callee.span, callee.text, std::move(parts));
    result_.nodes[result].keywords = std::move(keywords);
    return result;
  }

  Found parenthesis() {
    next();
    const Found inner = binary(1);
    if (!inner) return inner;
    if (peek().is(",")) return fail(peek().span, "a list is written `[a, b]`");
    if (!accept(")")) return fail_expecting("`)`");
    return inner;
  }

  Found list() {
    const Span open = next().span;
    std::vector<Index> parts;
    while (!peek().is("]")) {
      const Found part = binary(1);
      if (!part) return part;
      parts.push_back(*part);
      if (!accept(",")) break;
    }
    if (!accept("]")) return fail_expecting("`,` or `]`");
    return add(NodeType::list, {open.begin, last_.end}, "[]", std::move(parts));
  }

  const ExpressionText& text_;
  std::vector<Token> tokens_;
  Errors& errors_;
  std::size_t at_ = 0;
  int depth_ = 0;
  Span last_;
  Expression result_;
};

}  // namespace

std::string instead_of_element(std::string_view array, std::string_view index) {
  const std::string name(array), at(index);
  const bool row = index.find_first_of(",:") == std::string_view::npos;
  std::string mend =
      row ? "where((arange(n) == " + at + ")[:, None], value, " + name + ")` for one of n rows" : "where(condition, value, " + name + ")`";
  if (find_op("dynamic_update_slice")) {
    mend = "dynamic_update_slice(" + name + (row ? ", value[None], [" + at + ", 0])` for a row" : ", value, [" + at + "])`");
  }
  return "a part of a value cannot be bound; bind all of it anew: `" + name + ": " + mend;
}

std::optional<Expression> parse_expression(const YamlNode& node, Errors& errors, std::string_view what) {
  const auto text = expression_text(node, what, errors);
  if (!text) return std::nullopt;
  auto tokens = lex(*text, errors);
  if (!tokens) return std::nullopt;
  return Parser(*text, *std::move(tokens), errors).whole();
}

std::optional<ForHead> parse_for_head(const YamlNode& node, Errors& errors) {
  const auto text = expression_text(node, "`i in N`", errors);
  if (!text) return std::nullopt;
  auto tokens = lex(*text, errors);
  if (!tokens) return std::nullopt;
  return Parser(*text, *std::move(tokens), errors).for_head();
}

}  // namespace cleave::models
