// TextHash: a short name for a list of texts (FNV-1a, 64 bits), equal on all machines and in all versions. Not cryptographic.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace cleave {

class TextHash {
 public:
  void add(std::string_view text) {
    for (const char c : text) hash_ = (hash_ ^ static_cast<unsigned char>(c)) * kPrime;
    hash_ *= kPrime;  // an end
  }
  /// 16 hexadecimal digits.
  [[nodiscard]] std::string text() const {
    char digits[17];
    std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(hash_));
    return digits;
  }

 private:
  static constexpr std::uint64_t kPrime = 0x100000001b3;
  std::uint64_t hash_ = 0xcbf29ce484222325;
};

}  // namespace cleave
