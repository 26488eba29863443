// Machine-independent work of one execution of an operation: its amount (Cost), its kind (CostClass) and its form (WorkForm). A machine's
// tables and rates convert it to seconds (partitioner/machine/op_costs.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace cleave {

/// Work of one execution.
struct Cost {
  double flops = 0;  ///< arithmetic operations
  double bytes = 0;  ///< memory read and written
  /// The size by which tables of measured times are indexed.
  [[nodiscard]] double size() const { return flops > 0 ? flops : bytes; }
};

/// Classes of operations with similar cost. An operation without measurements is assigned the cost of its class.
enum class CostClass : std::uint8_t {
  bookkeeping,  ///< costs no more than the call itself, or the cost cannot be known
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
  factorization,  ///< matrix factorizations and operations that use one
  transform,      ///< Fourier transforms
  random,
  creation,
};
inline constexpr int kCostClassCount = static_cast<int>(CostClass::creation) + 1;
std::string_view to_string(CostClass of);
std::optional<CostClass> parse_cost_class(std::string_view name);

/// The form of the work, where equal amounts differ in cost: `sum` over rows of 8 elements, a product with 1 row. Cost tables have keys
/// such as `sum/f32/inner_8` for it.
struct WorkForm {
  std::string_view name = {};  ///< the dimension whose length is `extent`; empty: one form only, whose tables have no form name
  double extent = 0;
  double full = 0;     ///< from this extent on, the tables without a form name apply
  double repeats = 1;  ///< number of equal, independent pieces; `extent` and `full` describe one piece
};

}  // namespace cleave
