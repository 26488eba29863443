// Compares gradients with central differences: the derivative of the loss along random directions, computed from the gradient and from two
// runs of the program.
#pragma once

#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "graph/trace/tracer.h"
#include "tests/support/namespaces.h"

namespace cleave::testing {

using NamedArrays = std::map<std::string, Array>;

/// Records a loss (f64[]) from the inputs of a program.
using RecordLoss = std::function<Operand(Tracer& tracer, const std::map<std::string, Operand>& inputs)>;

struct GradientDifference {
  double by_gradient = 0, by_difference = 0;
  std::string error;  ///< set if the program has errors or a run failed

  /// Relative to 1 + |derivative|.
  [[nodiscard]] double relative() const { return std::abs(by_gradient - by_difference) / (1 + std::abs(by_difference)); }
};

/// The program with outputs `loss` and, for each f64 input, `gradient of NAME`.
Graph with_gradients(const NamedArrays& inputs, const RecordLoss& loss);
/// One entry for each of `directions` random directions.
std::vector<GradientDifference> compare_gradients(const NamedArrays& inputs, const RecordLoss& loss, unsigned seed, int directions = 3,
                                                  double step = 1e-5);

}  // namespace cleave::testing
