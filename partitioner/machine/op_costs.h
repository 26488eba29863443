// OpCosts: the cost of an operation on a device by its machine file: by its own measured times if there are any, else by those of
// operations of the same CostClass, else by rates. Knows no graph and no operation by name.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/op.h"
#include "partitioner/machine/cost_source.h"
#include "partitioner/machine/machine.h"

namespace cleave::planner {

/// The properties of one execution on which its cost depends.
struct OpWork {
  const OpDef* op = nullptr;
  DType type = DType::f32;  ///< the type in which it computes
  Cost cost;
  WorkForm form;
  double rows = 0, columns = 0;  ///< of a matrix product, or of each of its equal pieces (`form.repeats`); 0: it is no product
  double traffic = 1;  ///< bytes as a fraction of the bytes if all operands had the result's shape: an operand of one element is read once
};
OpWork work_of(const OpDef& op, std::span<const TensorType> inputs, std::span<const TensorType> results, const Attributes& attributes);

struct OpCost {
  double seconds = 0;
  CostSource source = CostSource::by_rate;
};

class OpCosts {
 public:
  /// Keeps a reference to `rates`. `threads`: threads of the host; 0: as many as its tables were measured with.
  explicit OpCosts(const DeviceRates& rates, int threads = 0);

  [[nodiscard]] OpCost cost(const OpWork& work) const;
  /// The cost of its arithmetic alone, as part of a fused kernel.
  [[nodiscard]] double computing_seconds(const OpWork& work) const;
  /// Corrects `seconds`, which were measured by repeated executions on the same operands, for operands that are not in a cache. `operands`
  /// are pairs of bytes and reuse distance (reuse.h), from which follows the cache level or memory that holds each. The result is the time
  /// to read them if that is longer than computing.
  using Operands = std::vector<std::pair<double, double>>;
  [[nodiscard]] double from_memory(double seconds, const Operands& operands) const;
  /// The cost by a table whose key has `type`, which is no element type (such as `tf32`); empty if the machine has none.
  [[nodiscard]] std::optional<double> by_key(const OpDef& op, std::string_view type, const OpWork& work) const;
  /// The cost by the arithmetic rate `flops`.
  [[nodiscard]] double by_rate(const OpWork& work, double flops) const;

 private:
  using Tables = std::vector<const PointTable*>;
  /// The factor by which a variant changes a time: pairs of tables measured with it and without, of one operation or of several similar
  /// ones.
  using Ratio = std::vector<std::pair<const PointTable*, const PointTable*>>;
  struct Form {
    double extent;
    Ratio ratio;
  };
  /// Tables of matrix products by rows, then by columns. The size in each table grows with the depth alone.
  using Sides = std::map<double, std::map<double, const PointTable*>>;
  /// The tables that apply to an operation with a type. Several tables are combined by their geometric mean.
  struct Known {
    CostSource source = CostSource::by_rate;
    Tables seconds;
    Ratio scale;  ///< factor on `seconds` if these are of another type
    Ratio one_thread;
    Tables computing;
    std::map<std::string, std::vector<Form>, std::less<>> forms;  ///< by name; extents increase
    const Sides* sides = nullptr;                                 ///< only for matrix products measured by rows and columns
  };
  using Key = std::pair<const OpDef*, DType>;

  void read_tables();
  [[nodiscard]] double seconds_a_byte(double distance) const;
  [[nodiscard]] double memory_floor(const OpWork& work) const;
  [[nodiscard]] const Known& known(const Key& key) const;
  [[nodiscard]] Known find(const Key& key) const;
  void find_seconds(const Key& key, Known& known) const;
  void find_forms(const Key& key, Known& known) const;
  [[nodiscard]] const PointTable* table(const Key& key, const std::string& variant) const;
  [[nodiscard]] Ratio ratio(const Key& key, const std::string& variant) const;
  [[nodiscard]] Tables of_class(const Key& key, const std::string& variant) const;
  [[nodiscard]] static double plain_seconds(const Known& known, double size);
  [[nodiscard]] double in_form(const Known& known, double size, const OpWork& work) const;
  [[nodiscard]] double computing(const Known& known, const OpWork& work) const;
  [[nodiscard]] double best_rate(const Known& known, const OpWork& work) const;
  [[nodiscard]] double with_threads(const Known& known, double seconds, double size, double threads) const;

  const DeviceRates& rates_;
  const double threads_;
  std::map<std::string, std::map<Key, const PointTable*>, std::less<>> tables_;  ///< by variant, the part of a key after operation and type
  std::map<std::string, std::map<double, std::string>, std::less<>> extents_;    ///< extents of the variants that are forms, by form
  std::map<Key, Sides> sides_;
  /// Table of an operation that reads four bytes for each of its arithmetic operations and does little else.
  const PointTable* reading_ = nullptr;
  mutable std::map<Key, Known> cache_;
};

}  // namespace cleave::planner
