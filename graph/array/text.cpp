// read_text, write_text: arrays of bytes as the files that hold these bytes and nothing else.
#include <limits>
#include <optional>
#include <string>

#include "graph/array/npy.h"
#include "graph/base/exceptions.h"
#include "graph/base/file.h"
#include "graph/base/output_file.h"

namespace cleave {
namespace {

Error has_bytes(const std::string& path, const std::string& count, const TensorType& type) {
  return {"`" + path + "` holds " + count + " bytes, but " + to_string(type) + " is wanted"};
}

}  // namespace

Result<Array> read_text(const std::string& path, const TensorType& type) {
  return detail::read_text(path, type, FileKind::any);
}

Result<Array> detail::read_text(const std::string& path, const TensorType& type, FileKind kind) {
  return detail::guard_memory([&]() -> Result<Array> {
    Result<InputFile> file = InputFile::open(path, std::numeric_limits<std::int64_t>::max(), kind);
    if (!file) return file.error();
    if (type.dtype != DType::u8) return Error{"`" + path + "` holds bytes (u8), but " + to_string(type) + " is wanted", {}};
    if (file->size() && *file->size() != type.bytes()) return has_bytes(path, std::to_string(*file->size()), type);
    Result<Array> array = Array::allocate(type);
    if (!array) return array;
    const auto size = static_cast<std::size_t>(type.bytes());
    const Result<std::size_t> got = file->read(array->mutable_bytes(), size);
    if (!got) return got.error();
    char beyond = 0;
    const Result<std::size_t> more = file->read(&beyond, 1);
    if (!more) return more.error();
    if (*got != size || *more > 0) return has_bytes(path, *got != size ? std::to_string(*got) : "more", type);
    return array;
  });
}

std::optional<Array> detail::map_text(const std::string& path, const TensorType& wanted, FileKind kind) {
  const Result<InputFile> file = InputFile::open(path, std::numeric_limits<std::int64_t>::max(), kind);
  return file && file->size() && wanted.dtype == DType::u8 ? map_file(path, wanted, 0) : std::nullopt;
}

Status write_text(const std::string& path, const Array& array) {
  if (array.dtype() != DType::u8) return Error{"`" + path + "`: text is bytes (u8), and this array is " + to_string(array.type()), {}};
  return write_file(path, {std::string_view(reinterpret_cast<const char*>(array.bytes()), static_cast<std::size_t>(array.type().bytes()))});
}

}  // namespace cleave
