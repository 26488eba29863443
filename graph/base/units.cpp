#include "graph/base/units.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <vector>

#include "graph/base/number_text.h"
#include "graph/base/spelling.h"

namespace cleave {
namespace {

constexpr std::pair<std::string_view, double> kUnits[] = {{"B", 1},        {"kB", 1e3},    {"KB", 1e3},     {"MB", 1e6},
                                                          {"GB", 1e9},     {"TB", 1e12},   {"KiB", 1024.0}, {"MiB", 1048576.0},
                                                          {"GiB", 0x1p30}, {"TiB", 0x1p40}};

bool same_letters(std::string_view a, std::string_view b) {
  const auto same = [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), same);
}

std::string with_digits(double value, const char* unit) {
  return fixed_text(value, value >= 9.95 ? 0 : value >= 0.995 ? 1 : 2) + " " + unit;
}

}  // namespace

std::string format_bytes(double bytes) {
  if (std::isnan(bytes) || std::isinf(bytes)) return shortest_text(bytes) + " B";
  if (bytes < 0) return "-" + format_bytes(-bytes);
  if (bytes < 1024) {
    const bool whole = bytes == std::floor(bytes) || bytes >= 9.95;
    return (whole ? fixed_text(bytes, 0) : general_text(bytes, 2)) + " B";
  }
  constexpr std::array<const char*, 6> kPowers{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  std::size_t unit = 0;
  for (bytes /= 1024; bytes >= 999.5 && unit + 1 < kPowers.size(); ++unit) bytes /= 1024;
  return with_digits(bytes, kPowers[unit]);
}

std::string format_seconds(double seconds) {
  if (seconds == 0) return "0 s";
  if (std::isnan(seconds) || std::isinf(seconds)) return shortest_text(seconds) + " s";
  if (seconds < 0) return "-" + format_seconds(-seconds);
  if (seconds >= 0.0995) return with_digits(seconds, "s");
  if (seconds >= 0.0995e-3) return with_digits(seconds * 1e3, "ms");
  if (seconds >= 0.0995e-6) return with_digits(seconds * 1e6, "us");
  return with_digits(seconds * 1e9, "ns");
}

std::optional<NumberWithUnit> split_unit(std::string_view text) {
  NumberWithUnit split;
  const auto [rest, code] = std::from_chars(text.data(), text.data() + text.size(), split.number);
  if (code != std::errc()) return std::nullopt;
  const auto length = static_cast<std::size_t>(rest - text.data());
  split.digits = text.substr(0, length);
  split.unit = text.substr(std::min(text.find_first_not_of(' ', length), text.size()));
  return split;
}

std::optional<double> byte_unit(std::string_view unit) {
  if (unit.empty()) return 1;
  const auto* found = std::find_if(std::begin(kUnits), std::end(kUnits), [&](const auto& known) { return known.first == unit; });
  return found == std::end(kUnits) ? std::nullopt : std::optional(found->second);
}

std::string suggest_byte_unit(std::string_view unit) {
  std::vector<std::string> names;
  for (const auto& [name, bytes] : kUnits) {
    if (same_letters(name, unit)) return "; did you mean `" + std::string(name) + "`?";
    names.emplace_back(name);
  }
  const std::string near = did_you_mean(unit, names);
  return !near.empty() ? near : "; units are `B`, `kB`, `MB`, `GB`, `TB` and `KiB`, `MiB`, `GiB`, `TiB`";
}

Result<double> parse_bytes(std::string_view text) {
  const auto refuse = [](std::string message) { return Error{std::move(message), {}, ErrorKind::usage}; };
  const std::optional<NumberWithUnit> size = split_unit(text);
  if (!size) return refuse("`" + std::string(text) + "` is no number of bytes, as `16GiB` is one");
  const std::optional<double> unit = byte_unit(size->unit);
  if (!unit) return refuse("there is no unit `" + std::string(size->unit) + "`" + suggest_byte_unit(size->unit));
  if (!(size->number > 0)) return refuse("`" + std::string(text) + "` is not positive");
  return size->number * *unit;
}

}  // namespace cleave
