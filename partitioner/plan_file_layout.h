// The layout of plan files, for their writer and their reader.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace cleave::planner::plan_layout {

/// Counts up with every change of the layout, of the JSON document, and of what `derived` data look like under one name of their form.
inline constexpr std::uint32_t kFormat = 1;
inline constexpr std::array<char, 8> kMagic = {'\x93', 'C', 'L', 'E', 'A', 'V', 'E', '\n'};
inline constexpr std::size_t kAlignment = 64;  ///< of each array in the file

/// The first bytes of a file, little endian.
struct Header {
  std::array<char, 8> magic = kMagic;
  std::uint32_t format = kFormat;
  std::uint32_t reserved = 0;
  std::uint64_t document_bytes = 0;  ///< the JSON document follows the header
  std::uint64_t graph_bytes = 0;     ///< the text of the graph follows the document
  std::uint64_t data_begin = 0;      ///< a multiple of kAlignment
  std::uint64_t file_bytes = 0;
  std::array<char, 16> hash{};  ///< of the document and the graph, in hexadecimal digits
};
static_assert(sizeof(Header) == 64);

[[nodiscard]] constexpr std::uint64_t aligned(std::uint64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace cleave::planner::plan_layout
