// The safetensors format (huggingface/safetensors, "Format"): named arrays in one file. The first 8 bytes are the length of a JSON header;
// the header gives each array's element type, shape and place; the data follow, without holes.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/array/array.h"

namespace cleave {

struct SafeTensors {
  std::vector<std::pair<std::string, Array>> arrays;  ///< in the order of the data
  std::map<std::string, std::string> metadata;
};

/// Reads a whole file. Every rule of the format is checked before anything is allocated: an Error (file) that names the file for a header
/// that is no JSON object or exceeds 100 MB, for an unknown element type, for places that overlap, leave a hole or do not fit the shape,
/// and for names given twice.
Result<SafeTensors> read_safetensors(const std::string& path);
/// The same file, of whose arrays only the one of this name is allocated and read. An Error (file) if there is none.
Result<Array> read_safetensors(const std::string& path, std::string_view name);
/// Writes to a temporary name and renames: no partial file is ever left, and a file that stood there before stays until the new one is
/// complete.
Status write_safetensors(const std::string& path, const SafeTensors& tensors);

namespace detail {
/// The same for the bytes of a file; errors do not name one. With `only`, other arrays are checked and left out.
Result<SafeTensors> parse_safetensors(std::string_view bytes, const std::string_view* only = nullptr);
}  // namespace detail

}  // namespace cleave
