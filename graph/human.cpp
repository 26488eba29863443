// Sizes and times for people: at most three significant digits and a unit.
#include <array>
#include <cmath>
#include <cstdio>
#include <string>

#include "graph/tensor_type.h"

namespace cleave {
namespace {

std::string with_digits(double value, const char* unit) {
  const char* format = value >= 9.95 ? "%.0f %s" : value >= 0.995 ? "%.1f %s" : "%.2f %s";
  std::array<char, 400> text;
  std::snprintf(text.data(), text.size(), format, value, unit);
  return text.data();
}

}  // namespace

std::string human_bytes(double bytes) {
  if (std::isnan(bytes) || std::isinf(bytes)) return std::to_string(bytes) + " B";
  if (bytes < 0) return "-" + human_bytes(-bytes);
  if (bytes < 1024) {
    bool whole = bytes == std::floor(bytes) || bytes >= 9.95;
    std::array<char, 32> text;
    std::snprintf(text.data(), text.size(), whole ? "%.0f B" : "%.2g B", bytes);
    return text.data();
  }
  constexpr std::array<const char*, 6> kUnits{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  std::size_t unit = 0;
  for (bytes /= 1024; bytes >= 999.5 && unit + 1 < kUnits.size(); ++unit) bytes /= 1024;
  return with_digits(bytes, kUnits[unit]);
}

std::string human_seconds(double seconds) {
  if (seconds == 0) return "0 s";
  if (std::isnan(seconds) || std::isinf(seconds)) return std::to_string(seconds) + " s";
  if (seconds < 0) return "-" + human_seconds(-seconds);
  if (seconds >= 0.0995) return with_digits(seconds, "s");
  if (seconds >= 0.0995e-3) return with_digits(seconds * 1e3, "ms");
  if (seconds >= 0.0995e-6) return with_digits(seconds * 1e6, "us");
  return with_digits(seconds * 1e9, "ns");
}

}  // namespace cleave
