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
/// Whether all values are tensors of a fixed size, as loop-carried values and results of branches must be.
bool plain(const Values& values);

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
