// Helpers for lowering loops and branches to the Tracer.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "models/onnx/call.h"

namespace cleave::models::onnx {

inline constexpr std::int64_t kMostUnrolled = 1024;                                   ///< the most iterations that are unrolled
inline constexpr std::int64_t kMostTrips = std::numeric_limits<std::int32_t>::max();  ///< the most iterations, as the counter is an i32

/// The values as the Tracer's states, named after the node's results.
std::vector<Tracer::State> states(Call& c, const Values& values);
Values values_of(Call& c, const std::vector<Operand>& operands);
/// Whether all values are tensors, as loop-carried values and results of branches must be.
bool plain(const Values& values);
/// Whether one of the values has a size that depends on data.
bool any_bounded(Call& c, const Values& values);

/// The largest sizes of values that a loop carries, and their axes whose lengths are carried with them: they depend on data, or grow.
class CarriedSizes {
 public:
  /// `sample`: the values after one iteration; empty: no value changes its size. `trips`: the largest number of iterations; nothing if it
  /// is not known.
  CarriedSizes(Call& c, const Values& initial, const Values& sample, std::optional<std::int64_t> trips);

  /// Whether a value grows in every iteration; then the largest number of iterations must be known.
  [[nodiscard]] bool grow() const { return grow_; }
  /// Whether sizes change in a way that no length can describe.
  [[nodiscard]] bool change() const { return change_; }
  [[nodiscard]] std::size_t counts() const { return axes_.size(); }

  /// `values`, with room for the largest sizes, and their lengths behind them.
  [[nodiscard]] Values with_counts(const Values& values) const;
  enum class Where : std::uint8_t {
    inside,    ///< in an iteration: there is room for what it adds
    after,     ///< behind the loop
    complete,  ///< behind a loop that always makes all its iterations: what grows has its largest size
  };
  /// The first of `values`, with the counts that stand at the end of `values` as their lengths.
  [[nodiscard]] Values with_lengths(Values values, std::size_t carries, Where where) const;

 private:
  struct Axis {
    std::size_t value;
    int axis;
    std::int64_t extent, growth;
    bool exact;  ///< neither the initial value nor that after an iteration has a length
  };
  Call& c_;
  std::vector<Axis> axes_;
  bool grow_ = false, change_ = false;
};

/// Stacks values of all iterations of a loop along a new first axis.
class Collected {
 public:
  /// `sample`: the collected values of one iteration; `most`: the largest number of iterations.
  Collected(Call& c, const Values& sample, std::int64_t most) : c_(c) {
    for (const Value& each : sample) {
      Shape shape = each.part.shape();
      shape.insert(shape.begin(), most);
      initial_.emplace_back(c(op::zeros, std::initializer_list<Part>{}, {{"shape", shape}, {"dtype", each.part.dtype()}}));
    }
  }
  [[nodiscard]] const Values& initial() const { return initial_; }

  /// The collection, updated with the value of one more iteration.
  Value put(const Value& collection, const Value& value, const Part& trip) {
    std::vector<Part> operands{collection.part, value.part, trip};
    operands.insert(operands.end(), value.part.shape().size(), Part(0));
    return c_(op::dynamic_update_slice, operands);
  }

 private:
  Call& c_;
  Values initial_;
};

}  // namespace cleave::models::onnx
