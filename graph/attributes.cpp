#include "graph/attributes.h"

#include <algorithm>
#include <bit>
#include <type_traits>

namespace cleave {
namespace {

bool less_name(const std::pair<std::string, AttributeValue>& item, std::string_view name) {
  return item.first < name;
}

bool same_bits(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

/// Compares bits where a value has bits: -0.0 differs from 0.0, and a NaN equals itself. Host functions are compared by declaration.
bool equal_values(const AttributeValue& a, const AttributeValue& b) {
  if (a.index() != b.index()) return false;
  return std::visit(
      [&](const auto& x) {
        using T = std::decay_t<decltype(x)>;
        const T& y = *std::get_if<T>(&b);
        if constexpr (std::is_same_v<T, double>) {
          return same_bits(x, y);
        } else if constexpr (std::is_same_v<T, std::vector<double>>) {
          return std::equal(x.begin(), x.end(), y.begin(), y.end(), same_bits);
        } else if constexpr (std::is_same_v<T, std::shared_ptr<const HostFunction>>) {
          return x == y || (x && y && *x == *y);
        } else {
          return x == y;
        }
      },
      a);
}

}  // namespace

Attributes::Attributes(std::initializer_list<std::pair<std::string, AttributeValue>> items) {
  for (const auto& [name, value] : items) set(name, value);
}

void Attributes::set(std::string name, AttributeValue value) {
  auto at = std::lower_bound(items_.begin(), items_.end(), std::string_view(name), less_name);
  if (at != items_.end() && at->first == name) {
    at->second = std::move(value);
  } else {
    items_.emplace(at, std::move(name), std::move(value));
  }
}

void Attributes::erase(std::string_view name) {
  auto at = std::lower_bound(items_.begin(), items_.end(), name, less_name);
  if (at != items_.end() && at->first == name) items_.erase(at);
}

const AttributeValue* Attributes::find(std::string_view name) const {
  auto at = std::lower_bound(items_.begin(), items_.end(), name, less_name);
  return at != items_.end() && at->first == name ? &at->second : nullptr;
}

bool operator==(const Attributes& a, const Attributes& b) {
  return std::equal(a.items_.begin(), a.items_.end(), b.items_.begin(), b.items_.end(),
                    [](const auto& x, const auto& y) { return x.first == y.first && equal_values(x.second, y.second); });
}

}  // namespace cleave
