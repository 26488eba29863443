// read_csv: tables of numbers, one row a line.
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <type_traits>

#include "graph/array/npy.h"
#include "graph/base/exceptions.h"
#include "graph/base/file.h"
#include "graph/base/number_text.h"

namespace cleave {
namespace {

bool blank(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}

std::string_view without_plus(std::string_view text) {
  return text.starts_with('+') && !text.starts_with("+-") ? text.substr(1) : text;
}

template <class Number>
std::optional<Number> parse_whole(std::string_view text) {
  text = without_plus(text);
  Number number{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// One field as a T, or nothing if it is not one. Integers may be written as numpy.savetxt does (`1.0e+00`).
template <class T>
std::optional<T> parse_field(std::string_view text) {
  if constexpr (std::is_same_v<T, bool>) {
    if (text == "true" || text == "True") return true;
    if (text == "false" || text == "False") return false;
    std::optional<std::uint8_t> number = parse_field<std::uint8_t>(text);
    return number && *number <= 1 ? std::optional(*number == 1) : std::nullopt;
  } else if constexpr (std::is_integral_v<T>) {
    if (std::optional<T> number = parse_whole<T>(text)) return number;
    std::optional<double> number = read_double(without_plus(text));
    const bool exact = number && *number == std::trunc(*number) && std::abs(*number) <= 0x1p53 &&
                       *number >= static_cast<double>(std::numeric_limits<T>::min()) &&
                       *number <= static_cast<double>(std::numeric_limits<T>::max());
    return exact ? std::optional(static_cast<T>(*number)) : std::nullopt;
  } else if constexpr (std::is_floating_point_v<T>) {
    text = without_plus(text);
    if constexpr (std::is_same_v<T, float>)
      return read_float(text);
    else
      return read_double(text);
  } else {
    std::optional<float> number = parse_field<float>(text);
    return number ? std::optional(T(*number)) : std::nullopt;
  }
}

class Reader {
 public:
  Reader(const std::string& path, std::string_view text, const TensorType& type)
      : file_(std::make_shared<const std::string>(path)), text_(text), type_(type) {}

  Result<Array> read() {
    if (text_.starts_with("\xef\xbb\xbf")) at_ = line_start_ = 3;
    // Each value takes at least one byte of text. If the table is shorter, the memory of the declared type is not allocated.
    const bool too_few = static_cast<std::uint64_t>(type_.elements()) > text_.size();
    Result<Array> array = Array::allocate(too_few ? TensorType{type_.dtype, {0}} : type_);
    if (!array) return array.error();
    Status status = dispatch(type_.dtype, [&](auto zero) { return fill(array->mutable_data<decltype(zero)>(), array->size()); });
    if (!status) return status.error();
    if (!has_shape(type_.shape)) return detail::holds_another(*file_, {type_.dtype, own_shape()}, type_);
    return array;
  }

 private:
  /// Reads the whole table and keeps the first `room` values.
  template <class T>
  Status fill(T* out, std::int64_t room) {
    while (at_ < text_.size()) {
      if (skip_empty_line()) continue;
      std::int64_t row = 0;
      while (true) {
        const std::string_view field = next_field();
        const int column = static_cast<int>(field.data() - text_.data() - static_cast<std::ptrdiff_t>(line_start_)) + 1;
        std::optional<T> value = parse_field<T>(field);
        if (!value) return error("`" + std::string(field.substr(0, 40)) + "` is no " + std::string(to_string(type_.dtype)), column);
        if (rows_ * columns_ + row < room) out[rows_ * columns_ + row] = *value;
        ++row;
        if (at_ >= text_.size() || text_[at_] != ',') break;
        ++at_;
      }
      if (rows_ > 0 && row != columns_) {
        return error("this row has " + std::to_string(row) + " values, the first one has " + std::to_string(columns_), 1);
      }
      columns_ = row;
      ++rows_;
      end_line();
    }
    return {};
  }

  [[nodiscard]] bool has_shape(const Shape& shape) const {
    if (type_.elements() != rows_ * columns_) return false;
    if (type_.elements() == 0 || shape.empty()) return true;
    if (shape.size() == 1) return rows_ == 1 || columns_ == 1;
    return rows_ == shape.front() || (shape.size() > 2 && columns_ == shape.back());
  }
  /// The shape of the table for messages: a single row has one axis if the declared type has at most one.
  [[nodiscard]] Shape own_shape() const { return rows_ == 1 && type_.shape.size() <= 1 ? Shape{columns_} : Shape{rows_, columns_}; }

  /// The next field, up to a comma or the end of the line, without surrounding blanks.
  std::string_view next_field() {
    std::size_t end = std::min(text_.find_first_of(",\n", at_), text_.size());
    std::size_t begin = at_;
    at_ = end;
    while (begin < end && blank(text_[begin])) ++begin;
    while (end > begin && blank(text_[end - 1])) --end;
    return text_.substr(begin, end - begin);
  }

  bool skip_empty_line() {
    std::size_t end = text_.find_first_not_of(" \t\r", at_);
    if (end != std::string_view::npos && text_[end] != '\n') return false;
    at_ = std::min(end, text_.size());
    end_line();
    return true;
  }

  void end_line() {
    at_ = std::min(text_.find('\n', at_), text_.size() - 1) + 1;
    line_start_ = at_;
    ++line_;
  }

  Error error(const std::string& what, int column) const {
    return {"cannot read `" + *file_ + "`: " + what, {file_, column > 0 ? line_ : 0, column, nullptr}, ErrorKind::file};
  }

  std::shared_ptr<const std::string> file_;
  std::string_view text_;
  const TensorType& type_;
  std::int64_t rows_ = 0, columns_ = 0;
  std::size_t at_ = 0, line_start_ = 0;
  int line_ = 1;
};

}  // namespace

Result<Array> read_csv(const std::string& path, const TensorType& type) {
  return detail::read_csv(path, type, FileKind::any);
}

Result<Array> detail::read_csv(const std::string& path, const TensorType& type, FileKind kind) {
  return detail::guard_memory([&]() -> Result<Array> {
    if (!checked_bytes(type)) return Error{"cannot read `" + path + "` as `" + to_string(type) + "`: too large", {}};
    // Apart from blanks and empty lines, no number is longer than kMostAValue.
    constexpr std::int64_t kMostAValue = 128, kMostBeside = 1 << 20;
    const std::int64_t most = std::numeric_limits<std::int64_t>::max() - kMostBeside;
    const std::int64_t limit = type.elements() > most / kMostAValue ? most : type.elements() * kMostAValue + kMostBeside;
    Result<std::string> text = read_file(path, limit, kind);
    if (!text) return text.error();
    return Reader(path, *text, type).read();
  });
}

}  // namespace cleave
