// Digits are the shortest that read back as the same number; they are laid out as `1.0`, `0.001`, `1e-05`, `1e+16`.
#include "graph/base/json_writer.h"

#include <charconv>
#include <cmath>

#include "graph/base/utf8.h"

namespace cleave {
namespace {

constexpr int kSmallestPlain = -4, kLargestPlain = 15;  ///< positions of the decimal point beyond which an exponent is written

/// `digits` times ten to the power of `point` minus their number.
std::string with_json_point(std::string digits, int point) {
  const int count = static_cast<int>(digits.size());
  if (count <= point && point <= kLargestPlain) return digits + std::string(static_cast<std::size_t>(point - count), '0') + ".0";
  if (0 < point && point <= kLargestPlain) return digits.insert(static_cast<std::size_t>(point), 1, '.');
  if (kSmallestPlain < point && point <= 0) return "0." + std::string(static_cast<std::size_t>(-point), '0') + digits;
  if (count > 1) digits.insert(1, 1, '.');
  const int exponent = point - 1;
  const std::string size = std::to_string(std::abs(exponent));
  return digits + (exponent < 0 ? "e-" : "e+") + (size.size() < 2 ? "0" : "") + size;
}

template <class T>
std::string number_text(T number) {
  if (!std::isfinite(number)) return "null";
  if (number == 0) return std::signbit(number) ? "-0.0" : "0.0";
  char text[48];
  const char* const end = std::to_chars(text, text + sizeof text, std::abs(number), std::chars_format::scientific).ptr;
  const std::string_view written(text, static_cast<std::size_t>(end - text));
  const std::size_t e = written.find('e');
  std::string digits(1, written[0]);
  if (e > 1) digits += written.substr(2, e - 2);
  int exponent = 0;
  const char* from = text + e + 1;
  if (*from == '+') ++from;
  std::from_chars(from, end, exponent);
  return (number < 0 ? "-" : "") + with_json_point(std::move(digits), exponent + 1);
}

void put_escaped(std::string& out, std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  out += '"';
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    switch (c) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\b': out += "\\b"; break;
      case '\t': out += "\\t"; break;
      case '\n': out += "\\n"; break;
      case '\f': out += "\\f"; break;
      case '\r': out += "\\r"; break;
      default:
        if (byte >= 0x20) {
          out += c;
        } else {
          out += "\\u00";
          out += kHex[byte >> 4];
          out += kHex[byte & 15u];
        }
    }
  }
  out += '"';
}

void put_text(std::string& out, std::string_view text) {
  if (is_utf8(text))
    put_escaped(out, text);
  else
    put_escaped(out, replace_ill_formed(text));
}

}  // namespace

void JsonWriter::key(std::string_view name) {
  before_item();
  put_text(out_, name);
  out_ += indent_ < 0 ? ":" : ": ";
  after_key_ = true;
}

void JsonWriter::value(std::string_view text) {
  before_item();
  put_text(out_, text);
}

void JsonWriter::value(double number) {
  scalar(number_text(number));
}

void JsonWriter::value(float number) {
  scalar(number_text(number));
}

void JsonWriter::integer(std::int64_t number) {
  scalar(std::to_string(number));
}

void JsonWriter::whole(std::uint64_t number) {
  scalar(std::to_string(number));
}

void JsonWriter::scalar(std::string_view text) {
  before_item();
  out_ += text;
}

void JsonWriter::before_item() {
  if (after_key_) {
    after_key_ = false;
    return;
  }
  if (depth_ == 0) return;
  if (!first_) out_ += ',';
  first_ = false;
  line_break();
}

void JsonWriter::open(char bracket) {
  before_item();
  out_ += bracket;
  ++depth_;
  first_ = true;
}

void JsonWriter::close(char bracket) {
  --depth_;
  if (!first_) line_break();
  first_ = false;
  out_ += bracket;
}

void JsonWriter::line_break() {
  if (indent_ < 0) return;
  out_ += '\n';
  out_.append(static_cast<std::size_t>(depth_) * static_cast<std::size_t>(indent_), ' ');
}

}  // namespace cleave
