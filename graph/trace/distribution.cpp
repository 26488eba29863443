#include "graph/trace/distribution.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace cleave {
namespace {

constexpr Distribution kDistributions[] = {
    {"uniform", "low", "high"}, {"normal", "mean", "deviation"}, {"truncated_normal", "mean", "deviation"}, {"orthogonal", "gain", ""},
    {"he", "inputs", ""},       {"xavier", "inputs", "outputs"}};

}  // namespace

const Distribution* find_distribution(std::string_view key) {
  const auto found =
      std::find_if(std::begin(kDistributions), std::end(kDistributions), [&](const Distribution& d) { return d.key == key; });
  return found == std::end(kDistributions) ? nullptr : &*found;
}

std::string wrong_numbers(const Distribution& distribution, double first, double second) {
  const std::string name = "`" + std::string(distribution.key) + "`";
  if (!std::isfinite(first) || (distribution.numbers() == 2 && !std::isfinite(second))) return "the numbers of " + name + " must be finite";
  if (distribution.key == "uniform") return first > second ? "the low end of " + name + " lies above the high one" : "";
  if (distribution.key == "orthogonal") return "";
  if (distribution.first == "inputs") {
    if (first >= 1 && (distribution.numbers() == 1 || second >= 1)) return "";
    return name + " takes the number of inputs" + (distribution.numbers() == 2 ? " and of outputs" : "") + " of the layer, each 1 or more";
  }
  return second < 0 ? "the deviation of " + name + " must not be negative" : "";
}

void set_distribution(Attributes& attributes, const Distribution& distribution, double first, double second) {
  if (distribution.key == "he") return attributes.set("normal", std::vector<double>{0, std::sqrt(2 / first)});
  if (distribution.key == "xavier") {
    const double most = std::sqrt(6 / (first + second));
    return attributes.set("uniform", std::vector<double>{-most, most});
  }
  if (distribution.numbers() == 1) return attributes.set(std::string(distribution.key), first);
  attributes.set(std::string(distribution.key), std::vector<double>{first, second});
}

Result<Attributes> begin_with(std::string_view key, std::span<const double> numbers, std::int64_t seed, const std::string& name,
                              const TensorType& type) {
  const Distribution* distribution = find_distribution(key);
  if (!distribution) return Error{"no parameter begins as `" + std::string(key) + "`"};
  if (numbers.size() != distribution->numbers())
    return Error{"`" + std::string(key) + "` takes " + (distribution->numbers() == 1 ? "one number" : "two numbers") + ": " +
                 std::string(distribution->first) + (distribution->numbers() == 1 ? "" : " and " + std::string(distribution->second))};
  if (std::string wrong = wrong_numbers(*distribution, numbers.front(), numbers.back()); !wrong.empty()) return Error{std::move(wrong)};
  if (!is_floating(type.dtype)) return Error{"random numbers are floating; `" + name + "` is " + to_string(type)};
  Attributes attributes;
  set_distribution(attributes, *distribution, numbers.front(), numbers.back());
  attributes.set("seed", seed);
  return attributes;
}

}  // namespace cleave
