#include "graph/work.h"

#include <array>

namespace cleave {
namespace {

constexpr std::array<std::string_view, kCostClassCount> kNames = {
    "bookkeeping", "arithmetic", "division", "transcendental", "comparison",    "reduction", "scan",   "softmax",
    "product",     "movement",   "gather",   "sort",           "factorization", "transform", "random", "creation"};

}  // namespace

std::string_view to_string(CostClass of) {
  return kNames[static_cast<std::size_t>(of)];
}

std::optional<CostClass> parse_cost_class(std::string_view name) {
  for (std::size_t i = 0; i < kNames.size(); ++i)
    if (kNames[i] == name) return static_cast<CostClass>(i);
  return std::nullopt;
}

}  // namespace cleave
