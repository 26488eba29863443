// Files of data: NumPy's .npy format, versions 1 to 3 (numpy.lib.format), little endian, C and Fortran order; csv tables of numbers; and
// by extension also text as bytes and arrays of .safetensors files.
//
//   Result<Array> x = read_npy("x.npy");
//   if (!x) return complain(x.error());  // names the file
//   Status written = write_npy("copy.npy", *x);
#pragma once

#include <concepts>
#include <optional>
#include <string>
#include <string_view>

#include "graph/array/array.h"

namespace cleave {

enum class FileKind;  // graph/base/file.h

/// f2, f4, f8, i1 to i8, u1 to u8, b1, and bf16 as NumPy writes that type of ml_dtypes (V2); other element types, truncated and malformed
/// files are an Error that names the file.
Result<Array> read_npy(const std::string& path);
/// The same, but a file whose shape is not that of `wanted` is an Error before its data is read.
Result<Array> read_npy(const std::string& path, const TensorType& wanted);
/// The same into existing memory, which may be page-locked: the file's type must be that of `into`. After an Error its content is
/// undefined.
Status read_npy(const std::string& path, Array& into);
/// Writes to a temporary name and renames: no partial file is ever left. NumPy reads bf16 as two bytes without a meaning: `np.load(path)
/// .view(ml_dtypes.bfloat16)`. The path comes first, as in a program (graph/ops/ops.h).
Status write_npy(const std::string& path, const Array& array);
template <std::same_as<Array> A>
Status write_npy(const A&, const std::string&) {
  static_assert(!sizeof(A), "the path comes first: write_npy(\"x.npy\", array)");
  return {};
}

/// A table of numbers separated by commas, one row a line, no header, as `type.dtype`. Its rows and columns must be those of `type`: the
/// first axis counts the rows or, with more than two axes, the last one may count the columns; one axis may be a row or a column, and a
/// scalar is one number. At most 128 bytes a value and a MiB are read. Errors name file, line and column.
Result<Array> read_csv(const std::string& path, const TensorType& type);
/// The bytes of a file in row-major order, as u8. An Error if `type` has other elements or not as many as the file has bytes.
Result<Array> read_text(const std::string& path, const TensorType& type);
/// The bytes of an array of u8 in row-major order, as write_npy writes; an Error if it has other elements.
Status write_text(const std::string& path, const Array& array);
/// By extension: .npy, .csv, .txt, or of a .safetensors file the array `name`. It has `type` (npy and safetensors: exact shape, element
/// type converted if the values survive: floating types may round each other's values but not overflow, all others must be exact), else an
/// Error that shows both.
Result<Array> read_array(const std::string& path, const TensorType& type, std::string_view name = {});

namespace detail {
/// The functions above, restricted to files of one kind.
Result<Array> read_npy(const std::string& path, const TensorType& wanted, FileKind kind);
/// The array in a mapped file; nothing if the file must be read.
std::optional<Array> map_npy(const std::string& path, const TensorType& wanted, FileKind kind);
Result<Array> read_csv(const std::string& path, const TensorType& type, FileKind kind);
Result<Array> read_text(const std::string& path, const TensorType& type, FileKind kind);
/// The same as map_npy, of text.
std::optional<Array> map_text(const std::string& path, const TensorType& wanted, FileKind kind);
Result<Array> read_array(const std::string& path, const TensorType& type, std::string_view name, FileKind kind);
/// As read_array, but an .npy file of 64 MiB or more with the elements of `type`, or so long a text, is mapped and not read: the array is
/// borrowed, and only accessed pages come into memory. The file must not be written to while the array exists; a new file may take its
/// name.
Result<Array> map_array(const std::string& path, const TensorType& type, std::string_view name, FileKind kind);
/// An array of `wanted` in the bytes of a mapped file from `begin` to its end; nothing if it has other ones, or is too small to be mapped.
std::optional<Array> map_file(const std::string& path, const TensorType& wanted, std::size_t begin);
/// The message for a file whose type is not the declared one.
Error holds_another(const std::string& path, const TensorType& type, const TensorType& wanted);
/// Whether read_array knows the extension, and the known ones for messages.
[[nodiscard]] bool is_data_file(std::string_view path);
inline constexpr std::string_view kDataFiles = ".npy, .csv, .txt or .safetensors";
}  // namespace detail

}  // namespace cleave
