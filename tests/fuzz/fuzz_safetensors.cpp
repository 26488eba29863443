// The reader of safetensors files on arbitrary bytes: what it accepts fills the file's data without a hole, each name once.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <set>
#include <string>
#include <string_view>

#include "graph/array/safetensors.h"
#include "graph/base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cleave;
  const auto tensors = detail::parse_safetensors({reinterpret_cast<const char*>(data), size});
  if (!tensors) {
    CLEAVE_CHECK(!tensors.error().message.empty());
    return 0;
  }
  std::uint64_t header = 0;
  std::memcpy(&header, data, sizeof header);
  std::size_t bytes = sizeof header + header;
  std::set<std::string> names;
  for (const auto& [name, array] : tensors->arrays) {
    CLEAVE_CHECK(names.insert(name).second);
    const auto own = static_cast<std::size_t>(array.type().bytes());
    CLEAVE_CHECK(own <= size && bytes <= size - own);
    if (own > 0) CLEAVE_CHECK(std::memcmp(array.bytes(), data + bytes, own) == 0);
    bytes += own;
  }
  CLEAVE_CHECK(bytes == size);
  return 0;
}
