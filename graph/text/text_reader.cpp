#include "graph/text/text_reader.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace cleave {
namespace {

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

int base64_digit(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (is_digit(c)) return c - '0' + 52;
  return c == '+' ? 62 : c == '/' ? 63 : -1;
}

template <class T>
bool read_number(std::string_view token, T& out) {
  auto [end, status] = std::from_chars(token.data(), token.data() + token.size(), out);
  return status == std::errc() && end == token.data() + token.size() && !token.empty();
}

}  // namespace

bool TextReader::fail_at(std::size_t position, std::string message) {
  if (!error_) error_ = Error{std::move(message), location(position), ErrorKind::user};
  return false;
}

SourceLocation TextReader::location(std::size_t position) const {
  const std::string_view before = text_.substr(0, std::min(position, text_.size()));
  const auto line = static_cast<int>(1 + std::count(before.begin(), before.end(), '\n'));
  const std::size_t start = before.rfind('\n');
  const std::size_t column = before.size() - (start == std::string_view::npos ? 0 : start + 1) + 1;
  return {file_, line, static_cast<int>(column), nullptr};
}

void TextReader::skip_spaces() {
  while (!at_end() && (text_[position_] == ' ' || text_[position_] == '\t' || text_[position_] == '\r')) ++position_;
  if (!at_end() && text_[position_] == '#')
    while (!at_end() && text_[position_] != '\n') ++position_;
}

void TextReader::skip_empty_lines() {
  for (skip_spaces(); !at_end() && text_[position_] == '\n'; skip_spaces()) ++position_;
}

char TextReader::peek() {
  skip_spaces();
  return at_end() || text_[position_] == '\n' ? '\0' : text_[position_];
}

bool TextReader::at_end_of_line() {
  skip_spaces();
  return at_end() || text_[position_] == '\n';
}

bool TextReader::end_of_line() {
  if (!at_end_of_line()) return fail("expected the end of the line");
  if (!at_end()) ++position_;
  return true;
}

bool TextReader::accept(char c) {
  if (peek() != c || at_end_of_line()) return false;
  ++position_;
  return true;
}

bool TextReader::expect(char c) {
  if (accept(c)) return true;
  return fail(std::string("expected `") + c + "`");
}

std::string_view TextReader::word() {
  skip_spaces();
  const std::size_t start = position_;
  if (at_end() || !is_letter(text_[position_])) return {};
  while (!at_end() && (is_letter(text_[position_]) || is_digit(text_[position_]) || text_[position_] == '-')) ++position_;
  return text_.substr(start, position_ - start);
}

bool TextReader::accept_word(std::string_view wanted) {
  skip_spaces();
  const std::size_t start = position_;
  if (word() == wanted) return true;
  position_ = start;
  return false;
}

bool TextReader::expect_word(std::string_view wanted) {
  if (accept_word(wanted)) return true;
  return fail("expected `" + std::string(wanted) + "`");
}

/// The next token that may be a number or a word: all characters up to a space or punctuation.
std::string_view TextReader::token() {
  skip_spaces();
  const std::size_t start = position_;
  auto belongs = [](char c) { return is_letter(c) || is_digit(c) || c == '-' || c == '+' || c == '.'; };
  while (!at_end() && belongs(text_[position_])) ++position_;
  return text_.substr(start, position_ - start);
}

bool TextReader::quoted(std::string& out) {
  if (!expect('"')) return false;
  out.clear();
  while (!at_end() && text_[position_] != '\n') {
    char c = text_[position_++];
    if (c == '"') return true;
    if (c == '\\') {
      if (at_end()) break;
      c = text_[position_++];
      if (c == 'x') {
        if (text_.size() - position_ < 2) break;
        const int high = hex_digit(text_[position_]), low = hex_digit(text_[position_ + 1]);
        if (high < 0 || low < 0) return fail("expected two hexadecimal digits");
        c = static_cast<char>(high * 16 + low);
        position_ += 2;
      } else if (c != '"' && c != '\\') {
        return fail("unknown escape in a text");
      }
    }
    out += c;
  }
  return fail("a text is not closed");
}

bool TextReader::unsigned_number(std::uint32_t& out) {
  skip_spaces();
  const std::size_t start = position_;
  while (!at_end() && is_digit(text_[position_])) ++position_;
  if (read_number(text_.substr(start, position_ - start), out)) return true;
  return fail_at(start, "expected a number");
}

bool TextReader::integer(std::int64_t& out) {
  skip_spaces();
  const std::size_t start = position_;
  return read_number(token(), out) || fail_at(start, "expected an integer");
}

bool TextReader::floating(double& out) {
  skip_spaces();
  const std::size_t start = position_;
  return read_number(token(), out) || fail_at(start, "expected a number");
}

bool TextReader::tensor_type(TensorType& out) {
  skip_spaces();
  const std::size_t start = position_;
  while (!at_end() && text_[position_] != '\n' && text_[position_] != ']') ++position_;
  if (!at_end() && text_[position_] == ']') ++position_;
  std::optional<TensorType> type = parse_tensor_type(text_.substr(start, position_ - start));
  if (!type) return fail_at(start, "expected a type such as `f32[4, 2]`, of possible size");
  out = std::move(*type);
  return true;
}

bool TextReader::tensor_types(std::vector<TensorType>& out) {
  if (!expect('(')) return false;
  if (accept(')')) return true;
  do {
    if (!tensor_type(out.emplace_back())) return false;
  } while (accept(','));
  return expect(')');
}

bool TextReader::attributes(Attributes& out) {
  do {
    skip_spaces();
    const std::size_t start = position_;
    const std::string name(word());
    if (name.empty()) return fail("expected the name of an attribute");
    if (out.find(name)) return fail_at(start, "attribute `" + name + "` stands twice");
    AttributeValue value;
    if (!expect('=') || !attribute(value)) return false;
    out.set(name, std::move(value));
  } while (accept(','));
  return expect('}');
}

bool TextReader::attribute(AttributeValue& out) {
  const char first = peek();
  if (first == '"') return quoted(out.emplace<std::string>());
  if (first == '[') return list(out, false);
  const std::size_t start = position_;
  const std::string_view head = word();
  if (head == "true" || head == "false") {
    out = head == "true";
    return true;
  }
  if (head == "types") return tensor_types(out.emplace<std::vector<TensorType>>());
  if (head == "numbers") return list(out, true);
  if (head == "function") return function(out);
  if (const std::optional<DType> dtype = parse_dtype(head)) {
    out = *dtype;
    if (at_end() || text_[position_] != '[') return true;
    position_ = start;
    return array(out);
  }
  position_ = start;
  return number(out);
}

bool TextReader::number(AttributeValue& out) {
  const std::size_t start = position_;
  const std::string_view digits = token();
  if (std::int64_t integer = 0; read_number(digits, integer)) {
    out = integer;
    return true;
  }
  double floating = 0;
  if (!read_number(digits, floating)) return fail_at(start, "expected the value of an attribute");
  out = floating;
  return true;
}

bool TextReader::list(AttributeValue& out, bool numbers) {
  if (!expect('[')) return false;
  std::vector<std::int64_t> integers;
  std::vector<double> floatings;
  bool whole = !numbers;
  if (!accept(']')) {
    do {
      skip_spaces();
      AttributeValue value;
      if (!number(value)) return false;
      const auto* integer = std::get_if<std::int64_t>(&value);
      whole = whole && integer;
      integers.push_back(integer ? *integer : 0);
      floatings.push_back(integer ? static_cast<double>(*integer) : std::get<double>(value));
    } while (accept(','));
    if (!expect(']')) return false;
  }
  if (whole)
    out = std::move(integers);
  else
    out = std::move(floatings);
  return true;
}

template <class T>
bool TextReader::element(T& out) {
  skip_spaces();
  const std::size_t start = position_;
  const std::string_view digits = token();
  bool good = false;
  if constexpr (std::is_same_v<T, bool>) {
    good = digits == "true" || digits == "false";
    out = digits == "true";
  } else if constexpr (std::is_arithmetic_v<T>) {
    good = read_number(digits, out);
  } else {
    float wide = 0;
    good = read_number(digits, wide);
    out = T(wide);
  }
  return good || fail_at(start, "expected an element of the array");
}

bool TextReader::array(AttributeValue& out) {
  const std::size_t start = position_;
  TensorType type;
  if (!tensor_type(type)) return false;
  if (accept_word("stored")) return stored_array(type, out);
  const bool encoded = accept_word("base64");
  // An element takes at least one byte of text. Checking this bounds the allocation by a multiple of the size of the text.
  const std::size_t left = text_.size() - position_;
  const auto bytes = static_cast<std::size_t>(type.bytes());
  if (encoded ? bytes > left : static_cast<std::size_t>(type.elements()) > left)
    return fail_at(start, "the values of this array are missing");
  Array array(type);
  if (encoded) {
    if (!base64(array)) return false;
    out = std::move(array);
    return true;
  }
  if (!expect('(')) return false;
  const bool read = dispatch(type.dtype, [&](auto zero) {
    using T = decltype(zero);
    T* values = array.mutable_data<T>();
    for (std::int64_t i = 0; i < array.size(); ++i) {
      if (i > 0 && !expect(',')) return false;
      if (!element(values[i])) return false;
    }
    return true;
  });
  if (!read || !expect(')')) return false;
  out = std::move(array);
  return true;
}

bool TextReader::stored_array(const TensorType& type, AttributeValue& out) {
  const std::size_t start = position_;
  std::uint32_t number = 0;
  if (!unsigned_number(number)) return false;
  const Array* array = stored_ ? stored_(number) : nullptr;
  if (!array) return fail_at(start, "this text has no array " + std::to_string(number) + " beside it");
  if (array->type() != type) return fail_at(start, "array " + std::to_string(number) + " has the type " + to_string(array->type()));
  out = *array;
  return true;
}

bool TextReader::base64(Array& out) {
  if (!expect('"')) return false;
  const auto size = static_cast<std::size_t>(out.type().bytes());
  const std::size_t length = (size + 2) / 3 * 4;
  if (text_.size() - position_ < length) return fail("the values of this array are missing");
  std::byte* bytes = out.mutable_bytes();
  for (std::size_t i = 0; i < size; i += 3) {
    const std::size_t wanted = std::min<std::size_t>(3, size - i);
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 4; ++k, ++position_) {
      const int digit = k <= wanted ? base64_digit(text_[position_]) : text_[position_] == '=' ? 0 : -1;
      if (digit < 0) return fail("expected a base64 digit");
      group = group << 6 | static_cast<std::uint32_t>(digit);
    }
    for (std::size_t k = 0; k < wanted; ++k) bytes[i + k] = static_cast<std::byte>(group >> (16 - 8 * k));
  }
  if (out.dtype() == DType::boolean && std::any_of(bytes, bytes + size, [](std::byte b) { return b > std::byte{1}; }))
    return fail("a bool is neither 0 nor 1");
  return expect('"');
}

bool TextReader::function(AttributeValue& out) {
  auto function = std::make_shared<HostFunction>();
  if (!quoted(function->name)) return false;
  if (!expect_word("takes") || !tensor_types(function->takes)) return false;
  if (!expect_word("returns") || !tensor_types(function->returns)) return false;
  function->pure = accept_word("pure");
  if (accept_word("seconds") && !floating(function->seconds.emplace())) return false;
  if (accept_word("deadline") && !floating(function->deadline.emplace())) return false;
  if (accept_word("library")) {
    if (!quoted(function->library) || !expect_word("symbol") || !quoted(function->symbol)) return false;
  }
  out = std::shared_ptr<const HostFunction>(std::move(function));
  return true;
}

}  // namespace cleave
