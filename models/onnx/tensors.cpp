#include "models/onnx/tensors.h"

#include <array>
#include <charconv>
#include <system_error>

#include "graph/base/map_guard.h"
#include "models/onnx/narrow_type.h"

namespace cleave::models::onnx {

/// How a tensor's values lie in a file.
struct StoredType {
  TensorType type;  ///< of the Array that is made of them
  const NarrowType* narrow = nullptr;

  [[nodiscard]] std::int64_t bytes() const { return narrow ? narrow->packed_bytes(type.elements()) : type.bytes(); }
  [[nodiscard]] std::string text() const { return narrow ? std::string(narrow->name) + to_string(type.shape) : to_string(type); }
};

namespace {

/// The largest part of a mapped file that stays in memory beside the copy.
constexpr std::size_t kCopiedAtOnce = 8 << 20;

struct ElementTypeRow {
  std::string_view name;
  std::optional<DType> dtype;
};

// Indexed by TensorProto.DataType.
constexpr std::array<ElementTypeRow, 29> kElementTypes = {{{"undefined", {}},
                                                           {"float", DType::f32},
                                                           {"uint8", DType::u8},
                                                           {"int8", DType::i8},
                                                           {"uint16", DType::u16},
                                                           {"int16", DType::i16},
                                                           {"int32", DType::i32},
                                                           {"int64", DType::i64},
                                                           {"string", {}},
                                                           {"bool", DType::boolean},
                                                           {"float16", DType::f16},
                                                           {"double", DType::f64},
                                                           {"uint32", DType::u32},
                                                           {"uint64", DType::u64},
                                                           {"complex64", {}},
                                                           {"complex128", {}},
                                                           {"bfloat16", DType::bf16},
                                                           {"float8e4m3fn", {}},
                                                           {"float8e4m3fnuz", {}},
                                                           {"float8e5m2", {}},
                                                           {"float8e5m2fnuz", {}},
                                                           {"uint4", {}},
                                                           {"int4", {}},
                                                           {"float4e2m1", {}},
                                                           {"float8e8m0", {}},
                                                           {"uint2", {}},
                                                           {"int2", {}},
                                                           {"float6e2m3", {}},
                                                           {"float6e3m2", {}}}};

Error refused(const TensorProto& tensor, const std::string& why) {
  return {"tensor `" + std::string(tensor.name) + "` " + why, {}, ErrorKind::user};
}

/// Field numbers of a TensorProto's lists of values.
constexpr std::uint32_t kFloatData = 4, kInt32Data = 5, kInt64Data = 7, kDoubleData = 10, kUint64Data = 11;

std::uint32_t list_field(DType dtype) {
  switch (dtype) {
    case DType::f32: return kFloatData;
    case DType::f64: return kDoubleData;
    case DType::i64: return kInt64Data;
    case DType::u32:
    case DType::u64: return kUint64Data;
    case DType::f16:
    case DType::bf16:
    case DType::i32:
    case DType::i16:
    case DType::i8:
    case DType::u16:
    case DType::u8:
    case DType::boolean: break;
  }
  return kInt32Data;
}

/// Calls `f` with the bits of each value of a list, as a word; 16-bit floats are stored as their bits.
template <class F>
void for_each_word(std::string_view message, DType dtype, const F& f) {
  const std::uint32_t wanted = list_field(dtype);
  const std::size_t width = wanted == kFloatData ? 4 : wanted == kDoubleData ? 8 : 0;
  Fields fields(message);
  while (const std::optional<Field> field = fields.next()) {
    if (field->number != wanted) continue;
    if (field->kind != Field::Kind::bytes) {
      f(field->word);
      continue;
    }
    std::string_view packed = field->bytes;
    if (width == 0)
      while (const std::optional<std::uint64_t> word = take_varint(packed)) f(*word);
    for (; width > 0 && packed.size() >= width; packed.remove_prefix(width)) {
      std::uint64_t word = 0;
      std::memcpy(&word, packed.data(), width);
      f(word);
    }
  }
}

Result<Array> from_list(const TensorProto& tensor, TensorType type) {
  std::int64_t count = 0;
  for_each_word(tensor.message, type.dtype, [&](std::uint64_t) { ++count; });
  if (count != type.elements())
    return refused(tensor, "holds " + std::to_string(count) + " values, and its shape " + to_string(type.shape) + " has " +
                               std::to_string(type.elements()));
  const auto size = static_cast<std::size_t>(size_of(type.dtype));
  const bool boolean = type.dtype == DType::boolean;
  Result<Array> array = Array::allocate(std::move(type));
  if (!array) return array;
  std::byte* to = array->mutable_bytes();
  for_each_word(tensor.message, array->dtype(), [&](std::uint64_t word) {
    if (boolean) word = word != 0 ? 1 : 0;
    std::memcpy(to, &word, size);  // little-endian: the low bytes
    to += size;
  });
  return array;
}

/// Whether all bytes are 0 or 1; reading any other byte as bool would be undefined behavior.
bool holds_bools(std::string_view bytes) {
  for (const char byte : bytes)
    if (static_cast<unsigned char>(byte) > 1) return false;
  return true;
}

/// Writes the value of each element into an array of the carrier.
template <class T>
void unpack(const NarrowType& narrow, std::string_view bytes, Array& array) {
  const auto in_byte = static_cast<std::size_t>(8 / narrow.bits);
  const std::uint32_t mask = (1U << narrow.bits) - 1;
  std::vector<T> values;
  for (std::uint32_t code = 0; code <= mask; ++code) {
    if constexpr (std::is_same_v<T, Half>)
      values.emplace_back(static_cast<float>(narrow.decoded(code)));
    else
      values.push_back(static_cast<T>(narrow.decoded(code)));
  }
  T* const to = array.mutable_data<T>();
  for (std::size_t i = 0; i < static_cast<std::size_t>(array.size()); ++i) {
    const auto byte = static_cast<unsigned char>(bytes[i / in_byte]);
    to[i] = values[(byte >> (i % in_byte * static_cast<std::size_t>(narrow.bits))) & mask];
  }
}

void unpack(const NarrowType& narrow, std::string_view bytes, Array& array) {
  switch (narrow.carrier) {
    case DType::i8: return unpack<std::int8_t>(narrow, bytes, array);
    case DType::u8: return unpack<std::uint8_t>(narrow, bytes, array);
    case DType::f16: return unpack<Half>(narrow, bytes, array);
    default: return unpack<float>(narrow, bytes, array);
  }
}

/// The bytes of a list that holds one of them in each 32-bit number.
std::string listed_bytes(std::string_view message) {
  std::string bytes;
  for_each_word(message, DType::u8, [&](std::uint64_t word) { bytes.push_back(static_cast<char>(word)); });
  return bytes;
}

std::optional<std::int64_t> number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  return code == std::errc() && end == text.data() + text.size() && value >= 0 ? std::optional(value) : std::nullopt;
}

}  // namespace

std::optional<DType> element_type(std::int64_t data_type) {
  if (data_type < 0 || data_type >= static_cast<std::int64_t>(kElementTypes.size())) return std::nullopt;
  return kElementTypes[static_cast<std::size_t>(data_type)].dtype;
}

std::string element_type_name(std::int64_t data_type) {
  if (data_type < 0 || data_type >= static_cast<std::int64_t>(kElementTypes.size())) return "type " + std::to_string(data_type);
  return std::string(kElementTypes[static_cast<std::size_t>(data_type)].name);
}

std::optional<DType> carried_type(std::int64_t data_type) {
  const NarrowType* const narrow = narrow_type(data_type);
  return narrow ? std::optional(narrow->carrier) : element_type(data_type);
}

Result<TensorType> Tensors::type(const TensorProto& tensor) {
  const std::optional<DType> dtype = carried_type(tensor.data_type);
  if (!dtype) return refused(tensor, "has elements of " + element_type_name(tensor.data_type) + ", which cleave does not have");
  TensorType type{*dtype, tensor.dims};
  if (!checked_bytes(type)) return refused(tensor, "is too large or has a negative extent: " + to_string(type.shape));
  return type;
}

Result<Array> Tensors::read(const TensorProto& tensor) {
  Result<TensorType> type = Tensors::type(tensor);
  if (!type) return type.error();
  const StoredType stored{*std::move(type), narrow_type(tensor.data_type)};
  if (tensor.external) return external(tensor, stored);
  if (!tensor.raw_data && !stored.narrow) return from_list(tensor, stored.type);
  const std::string listed = tensor.raw_data ? std::string() : listed_bytes(tensor.message);
  const std::string_view bytes = tensor.raw_data ? *tensor.raw_data : std::string_view(listed);
  if (static_cast<std::int64_t>(bytes.size()) != stored.bytes())
    return refused(tensor,
                   "holds " + std::to_string(bytes.size()) + " bytes, and " + stored.text() + " has " + std::to_string(stored.bytes()));
  Result<Array> array = tensor.raw_data ? raw(stored, bytes) : Array::allocate(stored.type);
  if (array && !tensor.raw_data) unpack(*stored.narrow, bytes, *array);
  return array ? array : refused(tensor, array.error().message);
}

Result<Array> Tensors::raw(const StoredType& stored, std::string_view bytes) {
  const TensorType& type = stored.type;
  if (type.dtype == DType::boolean && !holds_bools(bytes)) return Error{"holds a bool that is neither 0 nor 1", {}};
  if (const auto known = copied_.find(bytes.data()); known != copied_.end() && known->second.type() == type) return known->second;
  Result<Array> array = Array::allocate(type);
  if (!array || bytes.empty()) return array;
  if (stored.narrow) {
    unpack(*stored.narrow, bytes, *array);
    drop_pages(bytes);
  } else {
    std::byte* const to = array->mutable_bytes();
    for (std::size_t done = 0; done < bytes.size(); done += kCopiedAtOnce) {
      const std::string_view part = bytes.substr(done, kCopiedAtOnce);
      std::memcpy(to + done, part.data(), part.size());
      drop_pages(part);
    }
  }
  copied_.insert_or_assign(bytes.data(), *array);
  return array;
}

Result<Array> Tensors::external(const TensorProto& tensor, const StoredType& stored) {
  std::string location;
  std::int64_t offset = 0;
  std::optional<std::int64_t> length;
  bool numbers = true;
  for_each(tensor.message, 13, [&](std::string_view bytes) {
    const auto [key, value] = parse_entry(bytes);
    if (key == "location") location = value;
    if (key != "offset" && key != "length") return;
    const std::optional<std::int64_t> given = number(value);
    numbers = numbers && given.has_value();
    if (key == "offset") offset = given.value_or(0);
    if (key == "length") length = given;
  });
  if (!numbers || location.empty()) return refused(tensor, "does not say where its external data lie");
  Result<std::shared_ptr<const MappedFile>> file = open(location);
  if (!file) return refused(tensor, file.error().message);
  const auto held = static_cast<std::int64_t>((*file)->bytes().size());
  if (length.value_or(stored.bytes()) != stored.bytes())
    return refused(tensor, "has " + std::to_string(*length) + " bytes of external data, and " + stored.text() + " has " +
                               std::to_string(stored.bytes()));
  if (offset > held || stored.bytes() > held - offset)
    return refused(tensor, "reaches beyond the end of its external data `" + location + "`");
  const std::string_view bytes = (*file)->bytes().substr(static_cast<std::size_t>(offset), static_cast<std::size_t>(stored.bytes()));
  Result<Array> array = raw(stored, bytes);
  return array ? array : refused(tensor, array.error().message);
}

Status Tensors::unchanged() const {
  for (const auto& [location, file] : opened_)
    if (Status same = file->unchanged(); !same) return same;
  return {};
}

Result<std::shared_ptr<const MappedFile>> Tensors::open(const std::string& location) {
  if (const auto found = opened_.find(location); found != opened_.end()) return found->second;
  const Result<RegularFile> found = roots_.open(location);
  if (!found) return Error{"has external data that cannot be had: " + found.error().message, {}};
  Result<std::shared_ptr<const MappedFile>> file = MappedFile::open(*found);
  if (!file) return Error{"has external data that cannot be had: " + file.error().message, {}};
  opened_.emplace(location, *file);
  return file;
}

}  // namespace cleave::models::onnx
