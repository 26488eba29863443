#include "models/limits.h"

#include "models/declarations.h"

namespace cleave::models {
namespace {

struct Unit {
  std::string_view name;
  double bytes;
};
constexpr Unit kUnits[] = {{"KiB", 1024.0},
                           {"MiB", 1024.0 * 1024},
                           {"GiB", 1024.0 * 1024 * 1024},
                           {"TiB", 1099511627776.0},
                           {"KB", 1e3},
                           {"MB", 1e6},
                           {"GB", 1e9},
                           {"TB", 1e12},
                           {"B", 1}};

/// A size in bytes without its unit, which is left in `factor`.
YamlNode without_unit(const YamlNode& node, double& factor) {
  YamlNode number = node;
  if (!node.scalar() || node.style != YamlNode::Style::plain || node.many_lines) return number;
  for (const Unit& unit : kUnits) {
    if (!node.text.ends_with(unit.name)) continue;
    factor = unit.bytes;
    number.text = node.text.substr(0, node.text.size() - unit.name.size());
    number.text = number.text.substr(0, number.text.find_last_not_of(' ') + 1);
    number.span.end = number.span.begin + number.text.size();
    break;
  }
  return number;
}

}  // namespace

Limits read_limits(const YamlNode& node, Evaluator& evaluator) {
  static const std::vector<std::string> kKeys = {"round_trips", "transfers", "bytes_per_run"};
  Limits limits;
  limits.location = evaluator.location(node.span);
  for (const YamlEntry& entry : section_entries(node, "limits", evaluator.errors)) {
    const std::string& key = entry.key.text;
    std::optional<std::int64_t>* limit = key == "round_trips"     ? &limits.round_trips
                                         : key == "transfers"     ? &limits.transfers
                                         : key == "bytes_per_run" ? &limits.bytes_per_run
                                                                  : nullptr;
    if (!limit) {
      evaluator.fail(Kind::unknown, entry.key.span, "unknown limit `" + key + "`" + evaluator.errors.suggest(key, kKeys));
      continue;
    }
    double factor = 1;
    const YamlNode number = key == "bytes_per_run" ? without_unit(entry.value, factor) : entry.value;
    const auto expression = parse_expression(number, evaluator.errors, "a number");
    const auto value = expression ? evaluator.number(*expression, "`" + key + "`") : std::nullopt;
    if (!value) continue;
    const double total = *value * factor;
    if (!(total >= 0 && total < 9e18) || total != static_cast<double>(static_cast<std::int64_t>(total))) {
      evaluator.fail(Kind::value, entry.value.span, "a limit is an integer of at least 0");
      continue;
    }
    *limit = static_cast<std::int64_t>(total);
  }
  return limits;
}

}  // namespace cleave::models
