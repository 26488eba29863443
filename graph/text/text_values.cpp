#include "graph/text/text_values.h"

#include <charconv>
#include <cmath>
#include <cstring>

#include "graph/base/utf8.h"

namespace cleave {

bool is_identifier(std::string_view text) {
  auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  if (text.empty() || !letter(text[0])) return false;
  for (char c : text)
    if (!letter(c) && !(c >= '0' && c <= '9')) return false;
  return true;
}

void put_quoted(std::string& out, std::string_view text) {
  out += '"';
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view piece = text.substr(at, utf8_piece(text, at).length);
    if (piece == "\"" || piece == "\\") out += '\\';
    out += escape_controls_one_line(piece);
    at += piece.size();
  }
  out += '"';
}

void put_integer(std::string& out, std::int64_t value) {
  char text[24];
  out.append(text, std::to_chars(text, text + sizeof text, value).ptr);
}

namespace {

template <class T>
void put_shortest(std::string& out, T value) {
  if (std::isnan(value)) {
    out += "nan";
    return;
  }
  char text[64];
  const std::string_view digits(text, static_cast<std::size_t>(std::to_chars(text, text + sizeof text, value).ptr - text));
  out += digits;
  if (digits.find_first_not_of("-0123456789") == std::string_view::npos) out += ".0";
}

constexpr std::int64_t kInlineElements = 64;

template <class T>
void put_element(std::string& out, T value) {
  if constexpr (std::is_same_v<T, bool>)
    out += value ? "true" : "false";
  else if constexpr (std::is_integral_v<T>)
    out += std::to_string(value);  // any T up to u64
  else if constexpr (std::is_floating_point_v<T>)
    put_shortest(out, value);
  else
    put_shortest(out, static_cast<float>(value));
}

void put_base64(std::string& out, const std::byte* bytes, std::size_t size) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (std::size_t i = 0; i < size; i += 3) {
    std::uint32_t group = 0;
    const std::size_t n = std::min<std::size_t>(3, size - i);
    for (std::size_t k = 0; k < 3; ++k) group = group << 8 | (k < n ? std::to_integer<std::uint32_t>(bytes[i + k]) : 0);
    for (std::size_t k = 0; k < 4; ++k) out += k <= n ? kDigits[group >> (18 - 6 * k) & 63] : '=';
  }
}

/// Whether the array has a NaN with other bits than the default one. Only the default NaN can be written as `nan`; an array with any
/// other is written as base64, which keeps its bits.
bool has_unusual_nan(const Array& array) {
  if (!is_floating(array.dtype())) return false;
  return dispatch(array.dtype(), [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_integral_v<T>) {
      return false;
    } else {
      const T usual(std::numeric_limits<float>::quiet_NaN());
      for (const T& value : array.values<T>())
        if (std::isnan(static_cast<float>(value)) && std::memcmp(&value, &usual, sizeof value) != 0) return true;
      return false;
    }
  });
}

void put_array(std::string& out, const Array& array) {
  out += to_string(array.type());
  if (array.size() > kInlineElements || has_unusual_nan(array)) {
    out += " base64 \"";
    put_base64(out, array.bytes(), static_cast<std::size_t>(array.type().bytes()));
    out += '"';
    return;
  }
  out += " (";
  dispatch(array.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const char* separator = "";
    for (const T& value : array.values<T>()) {
      out += separator;
      put_element(out, value);
      separator = ", ";
    }
  });
  out += ')';
}

void put_types(std::string& out, const std::vector<TensorType>& types) {
  out += '(';
  put_list(out, types, [&](const TensorType& type) { out += to_string(type); });
  out += ')';
}

void put_function(std::string& out, const HostFunction& function) {
  out += "function ";
  put_quoted(out, function.name);
  out += " takes ";
  put_types(out, function.takes);
  out += " returns ";
  put_types(out, function.returns);
  if (function.pure) out += " pure";
  if (function.seconds) {
    out += " seconds ";
    put_shortest(out, *function.seconds);
  }
  if (function.deadline) {
    out += " deadline ";
    put_shortest(out, *function.deadline);
  }
  if (function.library.empty() && function.symbol.empty()) return;
  out += " library ";
  put_quoted(out, function.library);
  out += " symbol ";
  put_quoted(out, function.symbol);
}

}  // namespace

void put_floating(std::string& out, double value) {
  put_shortest(out, value);
}

void put_attribute(std::string& out, const AttributeValue& attribute,
                   const std::function<std::optional<std::size_t>(const Array&)>& stored) {
  auto put = [&](const auto& value) {
    using T = std::decay_t<decltype(value)>;
    if constexpr (std::is_same_v<T, std::string>) {
      put_quoted(out, value);
    } else if constexpr (std::is_arithmetic_v<T>) {
      put_element(out, value);
    } else if constexpr (std::is_same_v<T, std::vector<std::int64_t>> || std::is_same_v<T, std::vector<double>>) {
      out += value.empty() && std::is_same_v<T, std::vector<double>> ? "numbers [" : "[";
      put_list(out, value, [&](auto number) { put_element(out, number); });
      out += ']';
    } else if constexpr (std::is_same_v<T, DType>) {
      out += to_string(value);
    } else if constexpr (std::is_same_v<T, Array>) {
      const std::optional<std::size_t> number = stored ? stored(value) : std::nullopt;
      if (!number) return put_array(out, value);
      out += to_string(value.type()) + " stored ";
      put_integer(out, static_cast<std::int64_t>(*number));
    } else if constexpr (std::is_same_v<T, std::vector<TensorType>>) {
      out += "types ";
      put_types(out, value);
    } else {
      CLEAVE_CHECK(value != nullptr);
      put_function(out, *value);
    }
  };
  std::visit(put, attribute);
}

}  // namespace cleave
