// Distributions that a parameter may begin with: `uniform`, `normal`, `truncated_normal`, `orthogonal`, `he`, `xavier`. The last two are
// names for scales of the first two (He et al., 2015; Glorot and Bengio, 2010).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "graph/array/tensor_type.h"
#include "graph/attributes.h"
#include "graph/base/result.h"

namespace cleave {

struct Distribution {
  std::string_view key;            ///< its name, also as an attribute
  std::string_view first, second;  ///< what its numbers mean; `second` is empty where there is one
  [[nodiscard]] std::size_t numbers() const { return second.empty() ? 1 : 2; }
};

/// The one of that name, or null.
const Distribution* find_distribution(std::string_view key);

/// Why the numbers make no sense ("the deviation of `normal` must not be negative"); empty: they do. `second` counts if there are two.
std::string wrong_numbers(const Distribution& distribution, double first, double second);
/// Sets the attributes of a parameter that begins with it: `he` and `xavier` become `normal` and `uniform`.
void set_distribution(Attributes& attributes, const Distribution& distribution, double first, double second);
/// The attributes of the parameter `name` that begins with the distribution `key`, or why it cannot: there is none of that name, it takes
/// other numbers, or the type is not floating.
Result<Attributes> begin_with(std::string_view key, std::span<const double> numbers, std::int64_t seed, const std::string& name,
                              const TensorType& type);

}  // namespace cleave
