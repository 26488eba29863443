// What an operation costs on a device by its machine file: by its own measured times where there are any, else by those of operations that
// cost alike (CostClass), else by rates. Knows no graph and no operation by name.
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

/// One execution, as far as a cost depends on it.
struct OpWork {
  const OpDef* op = nullptr;
  DType type = DType::f32;  ///< that it works in
  Cost cost;
  WorkForm form;
  double rows = 0, columns = 0;  ///< of a product, or each of its equal pieces (`form.repeats`); 0: it is none
  double traffic = 1;  ///< bytes as a part of those with all operands of the result's shape: an operand of one element is not read anew
};
OpWork work_of(const OpDef& op, std::span<const TensorType> inputs, std::span<const TensorType> results, const Attributes& attributes);

struct OpCost {
  double seconds = 0;
  CostSource source = CostSource::by_rate;
};

class OpCosts {
 public:
  /// `rates` is kept. `threads`: of the host; 0: as many as its tables were measured with.
  explicit OpCosts(const DeviceRates& rates, int threads = 0);

  [[nodiscard]] OpCost cost(const OpWork& work) const;
  /// The same as one of several operations that run as one kernel: its computing alone.
  [[nodiscard]] double computing_seconds(const OpWork& work) const;
  /// `seconds` of an execution were measured again and again with the same operands. These lie where their distance (bytes and distance of
  /// each, reuse.h) has left them: reading them takes its time, unless computing takes longer.
  using Operands = std::vector<std::pair<double, double>>;
  [[nodiscard]] double from_memory(double seconds, const Operands& operands) const;
  /// By a table with this key, if the machine has it: of what is no element type.
  [[nodiscard]] std::optional<double> by_key(const OpDef& op, std::string_view type, const OpWork& work) const;
  /// By a rate of arithmetic.
  [[nodiscard]] double by_rate(const OpWork& work, double flops) const;

 private:
  using Tables = std::vector<const PointTable*>;
  /// By how much something changes a time: what was measured with it and without, of one operation or several that are alike.
  using Ratio = std::vector<std::pair<const PointTable*, const PointTable*>>;
  struct Form {
    double extent;
    Ratio ratio;
  };
  /// Products by rows, then by columns: seconds by size, which is then the depth's.
  using Sides = std::map<double, std::map<double, const PointTable*>>;
  /// What is known of an operation with a type. Of several tables the geometric mean counts.
  struct Known {
    CostSource source = CostSource::by_rate;
    Tables seconds;
    Ratio scale;  ///< of `seconds`, where they are of another type
    Ratio one_thread;
    Tables computing;
    std::map<std::string, std::vector<Form>, std::less<>> forms;  ///< by name, extents growing
    const Sides* sides = nullptr;                                 ///< of products, where they were measured by both
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
  std::map<std::string, std::map<Key, const PointTable*>, std::less<>> tables_;  ///< by variant: what stands behind operation and type
  std::map<std::string, std::map<double, std::string>, std::less<>> extents_;    ///< of the variants that are forms, by form
  std::map<Key, Sides> sides_;
  const PointTable* reading_ = nullptr;  ///< of an operation that reads four bytes for each of its operations, and does little else
  mutable std::map<Key, Known> cache_;
};

}  // namespace cleave::planner
