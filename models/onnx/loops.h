// What loops and branches of a file have in common on their way to the Tracer.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "models/onnx/call.h"

namespace cleave::models::onnx {

inline constexpr std::int64_t kMostUnrolled = 1024;                                   ///< trips that are read one by one
inline constexpr std::int64_t kMostTrips = std::numeric_limits<std::int32_t>::max();  ///< what a counter holds

/// The values with the names of the node's results, as the Tracer takes them.
std::vector<Tracer::State> states(Call& c, const Values& values);
Values values_of(Call& c, const std::vector<Operand>& operands);
/// Whether all are tensors of a known size: what a loop can carry and a branch can give.
bool plain(const Values& values);

/// What the trips of a loop put side by side along a new first axis.
class Collected {
 public:
  /// `sample`: what one trip gives; `most`: so many trips.
  Collected(Call& c, const Values& sample, std::int64_t most) : c_(c) {
    for (const Value& each : sample) {
      Shape shape = each.part.shape();
      shape.insert(shape.begin(), most);
      initial_.emplace_back(c("zeros", std::initializer_list<Part>{}, {{"shape", shape}, {"dtype", each.part.dtype()}}));
    }
  }
  [[nodiscard]] const Values& initial() const { return initial_; }

  /// The collection with the values of one more trip.
  Value put(const Value& collection, const Value& value, const Part& trip) {
    std::vector<Part> operands{collection.part, value.part, trip};
    operands.insert(operands.end(), value.part.shape().size(), Part(0));
    return c_("dynamic_update_slice", operands);
  }

 private:
  Call& c_;
  Values initial_;
};

}  // namespace cleave::models::onnx
