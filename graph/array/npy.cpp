// Reads and writes the .npy format. csv tables: csv.cpp; data of a declared type, by extension: read_array.cpp.
#include "graph/array/npy.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <limits>
#include <optional>

#include "graph/base/exceptions.h"
#include "graph/base/file.h"
#include "graph/base/mapped_file.h"

namespace cleave {
namespace {

static_assert(std::endian::native == std::endian::little, "npy files are read and written as they lie in memory");

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kLargestHeader = 1 << 20;
constexpr std::int64_t kMapFrom = std::int64_t{64} << 20;  ///< bytes from which on files are mapped

struct Descriptor {
  std::string_view text;
  DType dtype;
};
/// NumPy knows no bf16: the type of the package ml_dtypes is written as two bytes without a meaning.
constexpr std::array<Descriptor, 13> kDescriptors{{{"<f4", DType::f32},
                                                   {"<f8", DType::f64},
                                                   {"<f2", DType::f16},
                                                   {"<i4", DType::i32},
                                                   {"<i8", DType::i64},
                                                   {"|u1", DType::u8},
                                                   {"|i1", DType::i8},
                                                   {"<i2", DType::i16},
                                                   {"<u2", DType::u16},
                                                   {"<u4", DType::u32},
                                                   {"<u8", DType::u64},
                                                   {"|b1", DType::boolean},
                                                   {"<V2", DType::bf16}}};

struct Header {
  std::string descriptor;
  bool fortran_order = false;
  Shape shape;
};

/// Reads the Python literal in the header: a dict of exactly `descr`, `fortran_order` and `shape`.
class HeaderReader {
 public:
  explicit HeaderReader(std::string_view text) : text_(text) {}

  std::optional<Header> read() {
    Header header;
    if (!take("{")) return std::nullopt;
    bool seen_descriptor = false, seen_order = false, seen_shape = false;
    while (!take("}")) {
      std::optional<std::string> key = string();
      if (!key || !take(":")) return std::nullopt;
      if (*key == "descr" && !seen_descriptor) {
        seen_descriptor = descriptor(header.descriptor);
        if (!seen_descriptor) return std::nullopt;
      } else if (*key == "fortran_order" && !seen_order) {
        header.fortran_order = take("True");
        seen_order = header.fortran_order || take("False");
        if (!seen_order) return std::nullopt;
      } else if (*key == "shape" && !seen_shape) {
        seen_shape = shape(header.shape);
        if (!seen_shape) return std::nullopt;
      } else {
        return std::nullopt;
      }
      if (!take(",") && !peek('}')) return std::nullopt;
    }
    skip();
    if (!text_.empty() || !seen_descriptor || !seen_order || !seen_shape) return std::nullopt;
    return header;
  }

 private:
  void skip() {
    while (!text_.empty() && (text_.front() == ' ' || text_.front() == '\n')) text_.remove_prefix(1);
  }

  bool peek(char wanted) {
    skip();
    return !text_.empty() && text_.front() == wanted;
  }

  bool take(std::string_view wanted) {
    skip();
    if (!text_.starts_with(wanted)) return false;
    text_.remove_prefix(wanted.size());
    return true;
  }

  std::optional<std::string> string() {
    skip();
    if (text_.empty() || (text_.front() != '\'' && text_.front() != '"')) return std::nullopt;
    std::size_t end = text_.find(text_.front(), 1);
    if (end == std::string_view::npos) return std::nullopt;
    std::string content(text_.substr(1, end - 1));
    text_.remove_prefix(end + 1);
    return content;
  }

  bool descriptor(std::string& result) {
    if (peek('[')) {  // fields of a structured type: skipped here, refused by the caller
      result = "structured";
      int depth = 0;
      std::size_t at = 0;
      do {
        depth += text_[at] == '[' ? 1 : text_[at] == ']' ? -1 : 0;
      } while (++at < text_.size() && depth > 0);
      text_.remove_prefix(at);
      return depth == 0;
    }
    std::optional<std::string> text = string();
    if (!text) return false;
    result = *std::move(text);
    return true;
  }

  bool shape(Shape& result) {
    if (!take("(")) return false;
    while (!take(")")) {
      skip();
      std::int64_t extent = 0;
      auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), extent);
      if (error != std::errc() || extent < 0) return false;
      text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
      take("L");  // Python 2 wrote long integers with an L
      result.push_back(extent);
      if (!take(",") && !peek(')')) return false;
    }
    return true;
  }

  std::string_view text_;
};

Error npy_error(const std::string& path, const std::string& what, ErrorKind kind = ErrorKind::file) {
  return {"cannot read `" + path + "`: " + what, {}, kind};
}

/// Reads the next `count` bytes of the file. If there are fewer, the Error says `truncated`.
Status read_bytes(InputFile& file, const std::string& path, void* target, std::size_t count, const char* truncated) {
  const Result<std::size_t> got = file.read(target, count);
  if (!got) return got.error();
  return *got == count ? Status() : npy_error(path, truncated);
}

/// Bytes from the current position to the end of the file; nothing if the size of the file is unknown (a pipe).
std::optional<std::uint64_t> bytes_left(const InputFile& file) {
  if (!file.size()) return std::nullopt;
  return static_cast<std::uint64_t>(std::max(*file.size() - file.position(), std::int64_t{0}));
}

/// Reads the header, up to the first byte of data.
Result<Header> read_header(InputFile& file, const std::string& path) {
  std::array<char, 8> start{};
  if (Status status = read_bytes(file, path, start.data(), start.size(), "not an npy file"); !status) return status.error();
  if (std::string_view(start.data(), 6) != kMagic) return npy_error(path, "not an npy file");
  const int version = start[6];
  if (version < 1 || version > 3 || start[7] != 0) {
    return npy_error(path, "npy version " + std::to_string(static_cast<unsigned char>(start[6])) + "." +
                               std::to_string(static_cast<unsigned char>(start[7])) + " is not supported");
  }
  constexpr const char* kTruncated = "truncated npy header";
  const std::size_t width = version == 1 ? 2 : 4;
  std::array<unsigned char, 4> length_bytes{};
  if (Status status = read_bytes(file, path, length_bytes.data(), width, kTruncated); !status) return status.error();
  std::size_t length = 0;
  for (std::size_t i = width; i > 0; --i) length = length << 8 | length_bytes[i - 1];
  if (bytes_left(file).value_or(length) < length) return npy_error(path, kTruncated);
  if (length > kLargestHeader) return npy_error(path, "npy header too long");
  std::string text(length, '\0');
  if (Status status = read_bytes(file, path, text.data(), length, kTruncated); !status) return status.error();
  std::optional<Header> header = HeaderReader(text).read();
  if (!header) return npy_error(path, "malformed npy header");
  return *std::move(header);
}

std::optional<DType> parse_descriptor(std::string_view text) {
  if (text == "bfloat16" || text == "|V2") return DType::bf16;
  for (const Descriptor& descriptor : kDescriptors) {
    const bool one_byte = descriptor.text.front() == '|';
    const bool order_fits = !text.empty() && (text.front() == descriptor.text.front() || text.front() == '=' ||
                                              (one_byte && (text.front() == '<' || text.front() == '>')));
    if (order_fits && text.substr(1) == descriptor.text.substr(1)) return descriptor.dtype;
  }
  return std::nullopt;
}

/// Copies the elements of `from` from column-major to row-major order.
void reorder(const std::byte* from, std::byte* to, const TensorType& type) {
  const auto width = static_cast<std::size_t>(size_of(type.dtype));
  std::vector<std::int64_t> strides(type.shape.size(), 1);
  for (std::size_t i = 1; i < strides.size(); ++i) strides[i] = strides[i - 1] * type.shape[i - 1];
  std::vector<std::int64_t> index(type.shape.size(), 0);
  std::int64_t at = 0;
  for (std::int64_t count = type.elements(); count > 0; --count, to += width) {
    std::memcpy(to, from + at * static_cast<std::int64_t>(width), width);
    for (std::size_t axis = index.size(); axis-- > 0;) {
      at += strides[axis];
      if (++index[axis] < type.shape[axis]) break;
      at -= index[axis] * strides[axis];
      index[axis] = 0;
    }
  }
}

/// A file positioned at its data. For a regular file, the number of bytes of data has been checked against the type.
struct Opened {
  InputFile file;
  TensorType type;
  bool column_major = false;
};

Error wrong_size(const std::string& path, const TensorType& type, const std::string& has) {
  return npy_error(path, "`" + to_string(type) + "` needs " + std::to_string(type.bytes()) + " bytes of data, but the file has " + has);
}

Result<Opened> open_npy(const std::string& path, FileKind kind = FileKind::any) {
  Result<InputFile> file = InputFile::open(path, std::numeric_limits<std::int64_t>::max(), kind);
  if (!file) return file.error();
  Result<Header> header = read_header(*file, path);
  if (!header) return header.error();
  std::optional<DType> dtype = parse_descriptor(header->descriptor);
  if (!dtype) {
    return npy_error(path, "element type `" + header->descriptor +
                               "` is not supported (only little-endian f2, f4, f8, i1 to i8, u1 to u8, b1, and V2 for bf16)");
  }
  TensorType type{*dtype, header->shape};
  std::optional<std::int64_t> bytes = checked_bytes(type);
  if (!bytes) return npy_error(path, "`" + to_string(type) + "` is too large");
  const std::optional<std::uint64_t> left = bytes_left(*file);
  if (left && static_cast<std::uint64_t>(*bytes) != *left) return wrong_size(path, type, std::to_string(*left));
  const bool column_major = header->fortran_order && type.rank() > 1;
  return Opened{*std::move(file), std::move(type), column_major};
}

/// Reads exactly the bytes that the type needs. Further bytes are an Error.
Status read_data(Opened& opened, const std::string& path, std::byte* data) {
  const auto size = static_cast<std::size_t>(opened.type.bytes());
  const Result<std::size_t> got = opened.file.read(data, size);
  if (!got) return got.error();
  if (*got != size) return wrong_size(path, opened.type, std::to_string(*got));
  char beyond = 0;
  const Result<std::size_t> more = opened.file.read(&beyond, 1);
  if (!more) return more.error();
  if (*more > 0) return wrong_size(path, opened.type, "more");
  if (opened.type.dtype == DType::boolean) {  // in C++, a bool may only be the byte 0 or 1
    std::transform(data, data + size, data, [](std::byte b) { return std::byte{b != std::byte{0}}; });
  }
  return {};
}

Status read_into(Opened& opened, const std::string& path, Array& array) {
  if (!opened.column_major) return read_data(opened, path, array.mutable_bytes());
  Result<Array> columns = Array::allocate(opened.type);
  if (!columns) return npy_error(path, columns.error().message, ErrorKind::machine);
  if (Status status = read_data(opened, path, columns->mutable_bytes()); !status) return status;
  reorder(columns->bytes(), array.mutable_bytes(), opened.type);
  return {};
}

Result<Array> read_opened(Opened& opened, const std::string& path) {
  Result<Array> array = Array::allocate(opened.type);
  if (!array) return npy_error(path, array.error().message, ErrorKind::machine);
  if (Status status = read_into(opened, path, *array); !status) return status.error();
  return array;
}

}  // namespace

Error detail::holds_another(const std::string& path, const TensorType& type, const TensorType& wanted) {
  return {"`" + path + "` holds " + to_string(type) + ", but " + to_string(wanted) + " is wanted"};
}

Result<Array> read_npy(const std::string& path) {
  return detail::guard_memory([&]() -> Result<Array> {
    Result<Opened> opened = open_npy(path);
    if (!opened) return opened.error();
    return read_opened(*opened, path);
  });
}

Result<Array> read_npy(const std::string& path, const TensorType& wanted) {
  return detail::read_npy(path, wanted, FileKind::any);
}

Result<Array> detail::read_npy(const std::string& path, const TensorType& wanted, FileKind kind) {
  return detail::guard_memory([&]() -> Result<Array> {
    Result<Opened> opened = open_npy(path, kind);
    if (!opened) return opened.error();
    if (opened->type.shape != wanted.shape) return detail::holds_another(path, opened->type, wanted);
    return read_opened(*opened, path);
  });
}

std::optional<Array> detail::map_npy(const std::string& path, const TensorType& wanted, FileKind kind) {
  const Result<Opened> opened = open_npy(path, kind);
  if (!opened || opened->type != wanted || opened->column_major || !opened->file.size()) return std::nullopt;
  return map_file(path, wanted, static_cast<std::size_t>(opened->file.position()));
}

std::optional<Array> detail::map_file(const std::string& path, const TensorType& wanted, std::size_t begin) {
  // The bytes of a bool have to be checked.
  if (wanted.bytes() < kMapFrom || wanted.dtype == DType::boolean || begin % static_cast<std::size_t>(size_of(wanted.dtype)) != 0)
    return std::nullopt;
  Result<std::shared_ptr<const MappedFile>> file = MappedFile::open(path);
  if (!file || (*file)->bytes().size() != begin + static_cast<std::size_t>(wanted.bytes())) return std::nullopt;
  const char* data = (*file)->bytes().data() + begin;
  return Array::borrow(wanted, data, [mapped = *std::move(file)] {});
}

Status read_npy(const std::string& path, Array& into) {
  return detail::guard_memory([&]() -> Status {
    Result<Opened> opened = open_npy(path);
    if (!opened) return opened.error();
    if (opened->type != into.type()) return detail::holds_another(path, opened->type, into.type());
    return read_into(*opened, path, into);
  });
}

Status write_npy(const std::string& path, const Array& array) {
  return detail::guard_memory([&]() -> Status {
    const auto descriptor =
        std::find_if(kDescriptors.begin(), kDescriptors.end(), [&](const Descriptor& d) { return d.dtype == array.dtype(); });
    std::string header = "{'descr': '" + std::string(descriptor->text) + "', 'fortran_order': False, 'shape': (";
    for (std::int64_t extent : array.shape()) header += std::to_string(extent) + (array.shape().size() == 1 ? "," : ", ");
    if (array.shape().size() > 1) header.resize(header.size() - 2);
    header += "), }";
    const bool wide = header.size() + 128 > 0xffff;  // version 2 has a longer length field
    const std::size_t width = wide ? 4 : 2;
    header.append(63 - (kMagic.size() + 2 + width + header.size()) % 64, ' ');  // the data starts at a multiple of 64
    header += '\n';
    std::string start(kMagic);
    start += wide ? '\2' : '\1';
    start += '\0';
    for (std::size_t i = 0; i < width; ++i) start += static_cast<char>(header.size() >> (8 * i) & 0xffu);
    return write_file(path,
                      {start, header, {reinterpret_cast<const char*>(array.bytes()), static_cast<std::size_t>(array.type().bytes())}});
  });
}

}  // namespace cleave
