#include "models/onnx/dim_expression.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace cleave::models::onnx {
namespace {

constexpr int kMostNesting = 64;
constexpr std::int64_t kLargestExponent = 64;

/// A fraction in lowest terms with a positive denominator.
struct Fraction {
  std::int64_t over = 0, under = 1;
};
using Number = std::optional<Fraction>;  ///< nothing: unknown, or too large

__extension__ using Wide = __int128;

Number reduced(Wide over, Wide under) {
  if (under == 0) return std::nullopt;
  if (under < 0) over = -over, under = -under;
  Wide a = over < 0 ? -over : over, b = under;
  while (b != 0) a = std::exchange(b, a % b);
  if (a > 1) over /= a, under /= a;
  constexpr Wide kMost = INT64_MAX;
  if (over > kMost || over < -kMost || under > kMost) return std::nullopt;
  return Fraction{static_cast<std::int64_t>(over), static_cast<std::int64_t>(under)};
}

Number add(Fraction a, Fraction b) {
  return reduced(Wide{a.over} * b.under + Wide{b.over} * a.under, Wide{a.under} * b.under);
}
Number multiply(Fraction a, Fraction b) {
  return reduced(Wide{a.over} * b.over, Wide{a.under} * b.under);
}
Number divide(Fraction a, Fraction b) {
  return reduced(Wide{a.over} * b.under, Wide{a.under} * b.over);
}
Fraction negative(Fraction a) {
  return {-a.over, a.under};
}
Fraction floor(Fraction a) {
  return {a.over / a.under - (a.over % a.under < 0 ? 1 : 0), 1};
}
Number floor_divide(Fraction a, Fraction b) {
  const Number quotient = divide(a, b);
  return quotient ? Number(floor(*quotient)) : std::nullopt;
}
/// The remainder has the sign of the divisor.
Number modulo(Fraction a, Fraction b) {
  const Number quotient = floor_divide(a, b);
  const Number whole = quotient ? multiply(*quotient, b) : std::nullopt;
  return whole ? add(a, negative(*whole)) : std::nullopt;
}
Number power(Fraction base, Fraction exponent) {
  if (exponent.under != 1 || exponent.over < 0 || exponent.over > kLargestExponent) return std::nullopt;
  Number result = Fraction{1, 1};
  for (std::int64_t i = 0; i < exponent.over && result; ++i) result = multiply(*result, base);
  return result;
}
bool less(Fraction a, Fraction b) {
  return Wide{a.over} * b.under < Wide{b.over} * a.under;
}

/// Recursive descent. `failed` is set where the text is no expression; a value that is unknown or too large is nothing, and parsing goes
/// on.
class Parser {
 public:
  Parser(std::string_view text, const SizeOf& size_of) : text_(text), size_of_(size_of) {}

  Number parse() {
    Number value = sum(0);
    skip();
    if (!text_.empty()) failed_ = true;
    return failed_ ? std::nullopt : value;
  }
  [[nodiscard]] bool failed() const { return failed_; }
  [[nodiscard]] bool has_operator() const { return has_operator_; }

 private:
  void skip() {
    while (text_.starts_with(' ')) text_.remove_prefix(1);
  }
  bool take(std::string_view wanted) {
    skip();
    if (!text_.starts_with(wanted)) return false;
    text_.remove_prefix(wanted.size());
    return true;
  }
  bool take_operator(std::string_view wanted) {
    const bool taken = take(wanted);
    has_operator_ = has_operator_ || taken;
    return taken;
  }
  Number fail() {
    failed_ = true;
    return std::nullopt;
  }
  template <class F>
  static Number both(const Number& a, const Number& b, const F& f) {
    return a && b ? f(*a, *b) : std::nullopt;
  }

  Number sum(int depth) {
    if (depth > kMostNesting) return fail();
    Number value = product(depth);
    while (!failed_) {
      if (take_operator("+"))
        value = both(value, product(depth), add);
      else if (take_operator("-"))
        value = both(value, product(depth), [](Fraction a, Fraction b) { return add(a, negative(b)); });
      else
        break;
    }
    return value;
  }

  Number product(int depth) {
    Number value = factor(depth);
    while (!failed_) {
      if (take_operator("//"))
        value = both(value, factor(depth), floor_divide);
      else if (take_operator("/"))
        value = both(value, factor(depth), divide);
      else if (take_operator("*"))
        value = both(value, factor(depth), multiply);
      else if (take_operator("%"))
        value = both(value, factor(depth), modulo);
      else
        break;
    }
    return value;
  }

  Number factor(int depth) {
    if (depth > kMostNesting) return fail();
    if (take("-")) {
      const Number value = factor(depth + 1);
      return value ? Number(negative(*value)) : std::nullopt;
    }
    Number value = atom(depth);
    if (!failed_ && take_operator("**")) value = both(value, factor(depth + 1), power);
    return value;
  }

  Number atom(int depth) {
    if (take("(")) {
      const Number value = sum(depth + 1);
      return take(")") ? value : fail();
    }
    if (text_.empty()) return fail();
    if (text_.front() >= '0' && text_.front() <= '9') return integer();
    const std::string_view name = take_name();
    if (name.empty()) return fail();
    if (take("(")) return call(name, depth);
    const std::optional<std::int64_t> size = size_of_(name);
    return size ? reduced(*size, 1) : std::nullopt;
  }

  Number integer() {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), value);
    if (error != std::errc()) return fail();
    text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
    return Fraction{value, 1};
  }

  std::string_view take_name() {
    const auto in_name = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
    };
    const auto end = std::find_if_not(text_.begin(), text_.end(), in_name);
    const std::string_view name = text_.substr(0, static_cast<std::size_t>(end - text_.begin()));
    text_.remove_prefix(name.size());
    return name;
  }

  Number call(std::string_view function, int depth) {
    has_operator_ = true;
    std::vector<Number> arguments;
    do {
      arguments.push_back(sum(depth + 1));
    } while (!failed_ && take(","));
    if (failed_ || !take(")")) return fail();
    if (function == "Min" || function == "Max") {
      Number chosen = arguments.front();
      for (const Number& each : arguments)
        chosen = both(chosen, each, [&](Fraction a, Fraction b) { return Number(less(a, b) == (function == "Min") ? a : b); });
      return chosen;
    }
    if (arguments.size() == 1) {
      const Number& a = arguments.front();
      if (function == "floor") return a ? Number(floor(*a)) : std::nullopt;
      if (function == "ceiling" || function == "ceil") return a ? Number(negative(floor(negative(*a)))) : std::nullopt;
    }
    if (arguments.size() == 2) {
      if (function == "Mod" || function == "PythonMod") return both(arguments[0], arguments[1], modulo);
      if (function == "FloorDiv") return both(arguments[0], arguments[1], floor_divide);
    }
    return fail();
  }

  std::string_view text_;
  const SizeOf& size_of_;
  bool failed_ = false, has_operator_ = false;
};

}  // namespace

std::optional<std::int64_t> evaluate_dimension(std::string_view text, const SizeOf& size_of) {
  const Number value = Parser(text, size_of).parse();
  return value && value->under == 1 ? std::optional(value->over) : std::nullopt;
}

std::vector<std::string> names_in_dimension(std::string_view text) {
  std::vector<std::string> names;
  const SizeOf collect = [&](std::string_view name) -> std::optional<std::int64_t> {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.emplace_back(name);
    return std::nullopt;
  };
  Parser parser(text, collect);
  parser.parse();
  return parser.failed() || !parser.has_operator() ? std::vector<std::string>() : names;
}

}  // namespace cleave::models::onnx
