#include "graph/byte_units.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "graph/diagnostic.h"

namespace cleave {
namespace {

constexpr std::pair<std::string_view, double> kUnits[] = {{"B", 1},        {"kB", 1e3},    {"KB", 1e3},     {"MB", 1e6},
                                                          {"GB", 1e9},     {"TB", 1e12},   {"KiB", 1024.0}, {"MiB", 1048576.0},
                                                          {"GiB", 0x1p30}, {"TiB", 0x1p40}};

bool same_letters(std::string_view a, std::string_view b) {
  const auto same = [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), same);
}

}  // namespace

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
  const auto near = nearest(unit, names);
  return near ? "; did you mean `" + *near + "`?" : "; units are `B`, `kB`, `MB`, `GB`, `TB` and `KiB`, `MiB`, `GiB`, `TiB`";
}

}  // namespace cleave
