// ContentHash: a fast hash of a sequence of bytes and texts (64 bits), for files that must be recognized as the same. Equal on all machines
// of one byte order. Not cryptographic: it finds damage and change, not forgery.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

namespace cleave {

class ContentHash {
 public:
  /// Four independent lanes of 8 bytes each, so that the processor multiplies them at the same time.
  void add(const void* data, std::size_t size) {
    const auto* at = static_cast<const unsigned char*>(data);
    std::uint64_t lanes[4] = {state_, state_ ^ kSecond, ~state_, state_ + kFirst};
    std::size_t left = size;
    for (; left >= 32; left -= 32, at += 32)
      for (int lane = 0; lane < 4; ++lane) lanes[lane] = mixed(lanes[lane], word(at + 8 * lane, 8));
    for (; left > 0;) {
      const std::size_t part = left < 8 ? left : 8;
      lanes[0] = mixed(lanes[0], word(at, part));
      at += part;
      left -= part;
    }
    state_ = mixed(mixed(mixed(mixed(lanes[0], lanes[1]), lanes[2]), lanes[3]), size);
  }
  void add(std::string_view text) { add(text.data(), text.size()); }

  /// 16 hexadecimal digits.
  [[nodiscard]] std::string text() const {
    std::uint64_t hash = state_;
    hash = (hash ^ (hash >> 29)) * kSecond;
    hash ^= hash >> 32;
    char digits[17];
    std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(hash));
    return digits;
  }

 private:
  static constexpr std::uint64_t kFirst = 0x9e3779b97f4a7c15, kSecond = 0xbf58476d1ce4e5b9;

  static std::uint64_t word(const unsigned char* at, std::size_t bytes) {
    std::uint64_t word = 0;
    std::memcpy(&word, at, bytes);
    return word;
  }
  static std::uint64_t mixed(std::uint64_t state, std::uint64_t word) { return std::rotl((state ^ word) * kFirst, 29); }

  std::uint64_t state_ = kSecond;
};

}  // namespace cleave
