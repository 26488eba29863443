// What an execution of an operation is made of, without regard to any machine: how much (Cost), of what kind (CostClass), and in which form
// (WorkForm). A machine's tables and rates make seconds of it (partitioner/machine/op_costs.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace cleave {

/// Work of one execution.
struct Cost {
  double flops = 0;  ///< arithmetic operations
  double bytes = 0;  ///< memory read and written
  /// What tables of measured times go by.
  [[nodiscard]] double size() const { return flops > 0 ? flops : bytes; }
};

/// Operations that cost alike: one that was not measured costs what its class does.
enum class CostClass : std::uint8_t {
  bookkeeping,  ///< nothing to speak of beyond being called, or nothing that could be known of it
  arithmetic,
  division,  ///< and square roots
  transcendental,
  comparison,  ///< and selection, logic, tests
  reduction,
  scan,
  softmax,
  product,
  movement,
  gather,
  sort,
  factorization,  ///< of matrices, and what is computed by one
  transform,      ///< Fourier's
  random,
  creation,
};
inline constexpr int kCostClassCount = static_cast<int>(CostClass::creation) + 1;
std::string_view to_string(CostClass of);
std::optional<CostClass> parse_cost_class(std::string_view name);

/// How the work lies, where equal amounts cost differently: `sum` over rows of 8 elements, a product of 1 row. Tables of such forms have
/// keys as `sum/f32/inner_8`.
struct WorkForm {
  std::string_view name = {};  ///< of what `extent` is the length; empty: there is one form only, that of tables without a name
  double extent = 0;
  double full = 0;     ///< the extent from which on it is as in tables without a name
  double repeats = 1;  ///< so many equal and independent pieces, of which extent and full speak
};

}  // namespace cleave
