#include "graph/array/safetensors.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <set>

#include "graph/base/json_reader.h"
#include "graph/base/json_writer.h"
#include "graph/base/mapped_file.h"
#include "graph/base/output_file.h"

namespace cleave {
namespace {

static_assert(std::endian::native == std::endian::little, "the format is little endian");

constexpr std::size_t kLength = 8;  ///< bytes of the header's length
constexpr std::uint64_t kLongestHeader = 100'000'000;
constexpr std::size_t kAlignment = 8;

constexpr std::array<std::pair<std::string_view, DType>, 13> kTypes = {{{"F64", DType::f64},
                                                                        {"F32", DType::f32},
                                                                        {"F16", DType::f16},
                                                                        {"BF16", DType::bf16},
                                                                        {"I64", DType::i64},
                                                                        {"I32", DType::i32},
                                                                        {"I16", DType::i16},
                                                                        {"I8", DType::i8},
                                                                        {"U64", DType::u64},
                                                                        {"U32", DType::u32},
                                                                        {"U16", DType::u16},
                                                                        {"U8", DType::u8},
                                                                        {"BOOL", DType::boolean}}};

/// An array's entry in the header.
struct Entry {
  std::string name;
  TensorType type;
  std::int64_t begin = 0, end = 0;
};

Error wrong(const std::string& reason) {
  return Error{"not a safetensors file: " + reason, {}, ErrorKind::file};
}

std::optional<std::vector<std::int64_t>> integers(const JsonTree& tree, std::size_t list) {
  if (tree.items[list].kind != JsonTree::Kind::list) return std::nullopt;
  std::vector<std::int64_t> numbers;
  for (const std::size_t item : tree.children(list)) {
    const JsonTree::Item& number = tree.items[item];
    if (number.kind != JsonTree::Kind::scalar || number.scalar.type != JsonScalar::Type::integer || number.scalar.integer < 0)
      return std::nullopt;
    numbers.push_back(number.scalar.integer);
  }
  return numbers;
}

Result<Entry> read_entry(const JsonTree& tree, std::size_t item) {
  Entry entry{tree.items[item].key, {}, 0, 0};
  const std::string name = "`" + entry.name + "`";
  if (tree.items[item].kind != JsonTree::Kind::object) return wrong(name + " is no object");
  const auto dtype = tree.find(item, "dtype"), shape = tree.find(item, "shape"), place = tree.find(item, "data_offsets");
  if (!dtype || !shape || !place || tree.items[item].count != 3) return wrong(name + " must have `dtype`, `shape` and `data_offsets`");
  const std::string& written = tree.items[*dtype].scalar.text;
  const auto known = std::find_if(kTypes.begin(), kTypes.end(), [&](const auto& type) { return type.first == written; });
  if (known == kTypes.end()) return wrong(name + " has the element type `" + written + "`, which is not supported");
  const auto extents = integers(tree, *shape), offsets = integers(tree, *place);
  if (!extents) return wrong("the shape of " + name + " is no list of extents");
  if (!offsets || offsets->size() != 2) return wrong("the place of " + name + " is no pair of offsets");
  entry.type = {known->second, *extents};
  const auto bytes = checked_bytes(entry.type);
  entry.begin = (*offsets)[0];
  entry.end = (*offsets)[1];
  if (!bytes || entry.end < entry.begin || entry.end - entry.begin != *bytes)
    return wrong(name + " does not fill its place of " + std::to_string(entry.end - entry.begin) + " bytes");
  return entry;
}

Status read_metadata(const JsonTree& tree, std::size_t item, std::map<std::string, std::string>& metadata) {
  if (tree.items[item].kind != JsonTree::Kind::object) return wrong("`__metadata__` is no object");
  for (const std::size_t field : tree.children(item)) {
    const JsonTree::Item& text = tree.items[field];
    if (text.kind != JsonTree::Kind::scalar || text.scalar.type != JsonScalar::Type::text)
      return wrong("`__metadata__` holds more than texts");
    metadata[text.key] = text.scalar.text;
  }
  return {};
}

Result<SafeTensors> read_mapped(const std::string& path, const std::string_view* only) {
  const auto file = MappedFile::open(path);
  if (!file) return file.error();
  Result<SafeTensors> tensors = detail::parse_safetensors((*file)->bytes(), only);
  if (Status unchanged = (*file)->unchanged(); !unchanged) return unchanged.error();
  if (!tensors) return Error{path + ": " + tensors.error().message, {}, ErrorKind::file};
  return tensors;
}

}  // namespace

Result<SafeTensors> detail::parse_safetensors(std::string_view bytes, const std::string_view* only) {
  std::uint64_t length = 0;
  if (bytes.size() < kLength) return wrong("it has no header");
  std::memcpy(&length, bytes.data(), kLength);
  if (length > kLongestHeader || length > bytes.size() - kLength) return wrong("its header is cut off or too long");
  const std::string_view header = bytes.substr(kLength, length), data = bytes.substr(kLength + length);
  if (!header.starts_with('{')) return wrong("its header does not begin with `{`");
  const Result<JsonTree> tree = JsonTree::read(header);
  if (!tree) return wrong("its header: " + tree.error().message);

  SafeTensors tensors;
  std::vector<Entry> entries;
  std::set<std::string> names;
  for (const std::size_t item : tree->children(0)) {
    const std::string& name = tree->items[item].key;
    if (!names.insert(name).second) return wrong("`" + name + "` is given twice");
    if (name == "__metadata__") {
      if (Status read = read_metadata(*tree, item, tensors.metadata); !read) return read.error();
      continue;
    }
    Result<Entry> entry = read_entry(*tree, item);
    if (!entry) return entry.error();
    entries.push_back(*std::move(entry));
  }
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return std::pair(a.begin, a.end) < std::pair(b.begin, b.end); });
  std::int64_t end = 0;
  for (const Entry& entry : entries) {
    if (entry.begin != end) return wrong("there is a hole or an overlap before `" + entry.name + "`");
    end = entry.end;
  }
  if (static_cast<std::uint64_t>(end) != data.size())
    return wrong("its data have " + std::to_string(data.size()) + " bytes, and its arrays " + std::to_string(end));
  for (const Entry& entry : entries) {
    if (only && entry.name != *only) continue;
    Array array(entry.type);
    if (entry.end > entry.begin)
      std::memcpy(array.mutable_bytes(), data.data() + entry.begin, static_cast<std::size_t>(entry.end - entry.begin));
    if (entry.type.dtype == DType::boolean) {
      const auto* values = reinterpret_cast<const unsigned char*>(data.data() + entry.begin);
      if (std::any_of(values, values + array.size(), [](unsigned char value) { return value > 1; }))
        return wrong("`" + entry.name + "` holds a bool that is neither 0 nor 1");
    }
    tensors.arrays.emplace_back(entry.name, std::move(array));
  }
  return tensors;
}

Result<SafeTensors> read_safetensors(const std::string& path) {
  return read_mapped(path, nullptr);
}

Result<Array> read_safetensors(const std::string& path, std::string_view name) {
  Result<SafeTensors> tensors = read_mapped(path, &name);
  if (!tensors) return tensors.error();
  if (tensors->arrays.empty()) return Error{path + ": it has no array `" + std::string(name) + "`", {}, ErrorKind::file};
  return std::move(tensors->arrays.front().second);
}

Status write_safetensors(const std::string& path, const SafeTensors& tensors) {
  std::string header;
  JsonWriter json(header);
  json.object([&] {
    if (!tensors.metadata.empty())
      json.object("__metadata__", [&] {
        for (const auto& [name, text] : tensors.metadata) json.field(name, text);
      });
    std::int64_t begin = 0;
    for (const auto& named : tensors.arrays) {
      const Array& array = named.second;
      const auto type = std::find_if(kTypes.begin(), kTypes.end(), [&](const auto& each) { return each.second == array.dtype(); });
      const std::int64_t end = begin + array.type().bytes();
      json.object(named.first, [&] {
        json.field("dtype", type->first);
        json.list("shape", [&] {
          for (const std::int64_t extent : array.shape()) json.value(extent);
        });
        json.list("data_offsets", [&] {
          json.value(begin);
          json.value(end);
        });
      });
      begin = end;
    }
  });
  header.resize((header.size() + kAlignment - 1) / kAlignment * kAlignment, ' ');
  auto file = OutputFile::create(path);
  if (!file) return file.error();
  const std::uint64_t length = header.size();
  std::string start(kLength, '\0');
  std::memcpy(start.data(), &length, kLength);
  if (Status written = file->write(start + header); !written) return written;
  for (const auto& [name, array] : tensors.arrays) {
    const std::string_view bytes(reinterpret_cast<const char*>(array.bytes()), static_cast<std::size_t>(array.type().bytes()));
    if (Status written = file->write(bytes); !written) return written;
  }
  return file->commit();
}

}  // namespace cleave
