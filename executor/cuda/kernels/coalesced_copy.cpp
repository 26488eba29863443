#include "executor/cuda/kernels/coalesced_copy.h"

#include <algorithm>
#include <bit>

namespace cleave::runtime::cuda {
namespace {

constexpr std::int64_t kAtOnce = 16;  ///< bytes that a thread copies
constexpr unsigned kBlock = 256;

/// Blocks in x: one for each piece. Blocks in y: as many as needed so that each thread copies once.
std::string text_of(std::size_t room, bool unpacks) {
  const auto parameters = [&](const char* type, const char* name) {
    std::string list;
    for (std::size_t i = 0; i < room; ++i) list += std::string(", ") + type + name + std::to_string(i);
    return list;
  };
  std::string text = "typedef unsigned char u8;\nstruct alignas(16) Words { unsigned long long lane[2]; };\n";
  text += std::string("extern \"C\" __global__ void ") + (unpacks ? "unpack" : "pack") + "(";
  const std::string packed = unpacks ? ", const u8* packed" : ", u8* packed";
  const std::string pieces = parameters(unpacks ? "u8* " : "const u8* ", "p");
  const std::string all = (unpacks ? packed + pieces : pieces + packed) + parameters("long long ", "c");
  text += all.substr(2) + ") {\n";
  text += unpacks ? "  u8* piece = p0;\n" : "  const u8* piece = p0;\n";
  text += "  long long place = c0;\n  switch (blockIdx.x) {\n";
  for (std::size_t i = 1; i < room; ++i) {
    const std::string n = std::to_string(i);
    text += "    case " + n + ": piece = p" + n + "; place = c" + n + "; break;\n";
  }
  text += "  }\n  const unsigned bytes = (unsigned)place, at = 16 * (blockIdx.y * blockDim.x + threadIdx.x);\n";
  text += unpacks ? "  const u8* from = packed + (place >> 32);\n  u8* to = piece;\n"
                  : "  const u8* from = piece;\n  u8* to = packed + (place >> 32);\n";
  text += "  if (at + 16 <= bytes) {\n    *(Words*)(to + at) = *(const Words*)(from + at);\n  } else {\n";
  text += "    for (unsigned i = at; i < bytes; ++i) to[i] = from[i];\n  }\n}\n";
  return text;
}

}  // namespace

std::size_t coalesced_copy_room(std::size_t pieces) {
  return std::bit_ceil(std::max<std::size_t>(pieces, 2));
}

KernelSource coalesced_copy_source(std::span<const Piece> pieces, bool unpacks) {
  KernelSource source;
  const std::size_t room = coalesced_copy_room(pieces.size());
  source.text = text_of(room, unpacks);
  KernelLaunch launch;
  launch.entry = unpacks ? "unpack" : "pack";
  std::int64_t most = 1;
  for (const Piece& piece : pieces) {
    launch.constants.push_back((piece.offset << 32) | piece.range.bytes);
    most = std::max(most, piece.range.bytes);
  }
  launch.constants.resize(room, 0);
  constexpr std::int64_t kABlock = kAtOnce * kBlock;
  launch.grid = {static_cast<unsigned>(pieces.size()), static_cast<unsigned>((most + kABlock - 1) / kABlock), 1};
  launch.block = {kBlock, 1, 1};
  source.launches.push_back(std::move(launch));
  return source;
}

}  // namespace cleave::runtime::cuda
