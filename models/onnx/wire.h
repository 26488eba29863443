// The wire format of Protocol Buffers (https://protobuf.dev/programming-guides/encoding), as far as ONNX files use it: a message is a
// sequence of fields, each a number and a value, read in place. Nothing is copied or allocated. Knows no ONNX.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

namespace cleave::models::onnx {

/// One field of a message: its number, and the member for its kind of value.
struct Field {
  std::uint32_t number = 0;
  enum class Kind : std::uint8_t { varint, fixed64, bytes, fixed32 } kind = Kind::varint;
  std::uint64_t word = 0;  ///< varint, fixed64, fixed32
  std::string_view bytes;  ///< text, bytes, a message, or packed numbers

  [[nodiscard]] std::int64_t integer() const { return static_cast<std::int64_t>(word); }
  [[nodiscard]] float f32() const { return std::bit_cast<float>(static_cast<std::uint32_t>(word)); }
  [[nodiscard]] double f64() const { return std::bit_cast<double>(word); }
};

/// Reads a number of at most 10 bytes, 7 bits each, from the start of `bytes`, and removes it; nothing if it does not end.
inline std::optional<std::uint64_t> take_varint(std::string_view& bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes.size() && i < 10; ++i) {
    const auto byte = static_cast<unsigned char>(bytes[i]);
    value |= static_cast<std::uint64_t>(byte & 0x7F) << (7 * i);
    if (byte < 0x80) {
      bytes.remove_prefix(i + 1);
      return value;
    }
  }
  return std::nullopt;
}

/// Walks over the fields of a message:
///
///   Fields fields(message);
///   while (const std::optional<Field> field = fields.next()) …
///   if (!fields.whole()) …  // malformed from fields.rest() on
class Fields {
 public:
  explicit Fields(std::string_view message) : rest_(message) {}

  /// The next field; nothing at the end, and where the bytes are not a valid field.
  std::optional<Field> next() {
    if (rest_.empty()) return std::nullopt;
    std::string_view rest = rest_;
    const std::optional<std::uint64_t> tag = take_varint(rest);
    if (!tag || *tag >> 3 == 0 || *tag >> 32 != 0) return std::nullopt;
    Field field;
    field.number = static_cast<std::uint32_t>(*tag >> 3);
    if (!read_value(*tag & 7, rest, field)) return std::nullopt;
    rest_ = rest;
    return field;
  }
  [[nodiscard]] bool whole() const { return rest_.empty(); }
  [[nodiscard]] std::string_view rest() const { return rest_; }

 private:
  static bool read_value(std::uint64_t kind, std::string_view& rest, Field& field) {
    if (kind == 0) {
      const std::optional<std::uint64_t> word = take_varint(rest);
      field.word = word.value_or(0);
      return word.has_value();
    }
    if (kind == 2) {
      const std::optional<std::uint64_t> size = take_varint(rest);
      if (!size || *size > rest.size()) return false;
      field.kind = Field::Kind::bytes;
      field.bytes = rest.substr(0, static_cast<std::size_t>(*size));
      rest.remove_prefix(static_cast<std::size_t>(*size));
      return true;
    }
    const std::size_t size = kind == 1 ? 8 : kind == 5 ? 4 : 0;  // groups (3, 4) were deprecated before ONNX existed
    if (size == 0 || rest.size() < size) return false;
    field.kind = kind == 1 ? Field::Kind::fixed64 : Field::Kind::fixed32;
    std::memcpy(&field.word, rest.data(), size);
    rest.remove_prefix(size);
    return true;
  }

  std::string_view rest_;
};

}  // namespace cleave::models::onnx
