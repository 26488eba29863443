#include "models/reader/limits.h"

#include <algorithm>
#include <cctype>

#include "graph/base/units.h"
#include "models/reader/declarations.h"

namespace cleave::models {
namespace {

/// The number of a size in bytes; its unit is stored in `factor`. Nothing if the unit is not one of bytes.
std::optional<YamlNode> without_unit(const YamlNode& node, double& factor, Errors& errors) {
  YamlNode number = node;
  if (!node.scalar() || node.style != YamlNode::Style::plain || node.many_lines) return number;
  const auto split = split_unit(node.text);
  const auto is_letter = [](unsigned char c) { return std::isalpha(c) != 0; };
  if (!split || split->unit.empty() || !std::all_of(split->unit.begin(), split->unit.end(), is_letter)) return number;  // an expression
  const std::size_t unit_begin = node.span.begin + static_cast<std::size_t>(split->unit.data() - node.text.data());
  const auto bytes = byte_unit(split->unit);
  if (!bytes) {
    errors.add(DiagnosticKind::unknown, {unit_begin, unit_begin + split->unit.size()},
               "`" + std::string(split->unit) + "` is no unit of bytes" + suggest_byte_unit(split->unit));
    return std::nullopt;
  }
  factor = *bytes;
  number.text = split->digits;
  number.span.end = number.span.begin + number.text.size();
  return number;
}

/// Reads a percentage: `20%` gives 0.2.
std::optional<double> read_part(const YamlNode& node, Evaluator& evaluator) {
  const auto refuse = [&](const std::string& found) {
    evaluator.fail(DiagnosticKind::value, node.span, found + "; `prediction_error` is a percentage above 0, as in `20%`");
    return std::nullopt;
  };
  if (!node.scalar() || node.many_lines || !node.text.ends_with('%')) return refuse("there is no percent sign");
  YamlNode number = node;
  number.text.pop_back();
  number.text.erase(number.text.find_last_not_of(' ') + 1);
  number.span.end = number.span.begin + number.text.size();
  const auto expression = parse_expression(number, evaluator.errors, "a number");
  const auto percent = expression ? evaluator.number(*expression, "`prediction_error`") : std::nullopt;
  if (!percent) return std::nullopt;
  if (!(*percent > 0 && *percent < 1e9)) return refuse("`" + node.text + "` is out of range");
  return *percent / 100;
}

}  // namespace

Limits read_limits(const YamlNode& node, Evaluator& evaluator) {
  static const std::vector<std::string> kKeys = {"round_trips", "transfers", "bytes_per_run", "prediction_error"};
  Limits limits;
  limits.location = evaluator.location(node.span);
  for (const YamlEntry& entry : section_entries(node, "limits", evaluator.errors)) {
    const std::string& key = entry.key.text;
    if (key == "prediction_error") {
      limits.prediction_error = read_part(entry.value, evaluator);
      limits.prediction_error_location = evaluator.location(entry.key.span);
      continue;
    }
    std::optional<std::int64_t>* limit = key == "round_trips"     ? &limits.round_trips
                                         : key == "transfers"     ? &limits.transfers
                                         : key == "bytes_per_run" ? &limits.bytes_per_run
                                                                  : nullptr;
    if (!limit) {
      evaluator.fail(DiagnosticKind::unknown, entry.key.span, "unknown limit `" + key + "`" + evaluator.errors.suggest(key, kKeys));
      continue;
    }
    double factor = 1;
    const auto number = key == "bytes_per_run" ? without_unit(entry.value, factor, evaluator.errors) : entry.value;
    const auto expression = number ? parse_expression(*number, evaluator.errors, "a number") : std::nullopt;
    const auto value = expression ? evaluator.number(*expression, "`" + key + "`") : std::nullopt;
    if (!value) continue;
    const double total = *value * factor;
    if (!(total >= 0 && total < 9e18) || total != static_cast<double>(static_cast<std::int64_t>(total))) {
      evaluator.fail(DiagnosticKind::value, entry.value.span,
                     "`" + key + "` is " + std::string(trimmed(entry.value.text)) + "; a limit must be " +
                         (total < 0 ? "0 or more" : "a whole number, below 9e18"));
      continue;
    }
    *limit = static_cast<std::int64_t>(total);
  }
  return limits;
}

}  // namespace cleave::models
