// Accuracy of the host's math functions: the functions with their error bounds, and a sweep over f32 numbers through the executor's own
// loops, for every instruction set of the machine, compared with the C library in double. Used by ulp_sweep, for all 2^32 numbers, and by
// the test, for some. A unit in the last place (ulp) is that of the exact result.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "executor/host/simd/level.h"

namespace cleave::bench {

struct MathFunction {
  std::string_view op;
  double (*exact)(double);
  long double (*exact_long)(long double);
  /// The reference implementation, which defines the results for special values.
  float (*single)(float);
  double (*both)(double);
  double single_bound, both_bound;   ///< both_bound: for f64; 0 if there is no loop for it
  std::vector<std::uint32_t> worst;  ///< bits of the arguments at which a sweep over all f32 found the largest distances
};
const std::vector<MathFunction>& math_functions();

/// The distance of `is` from `exact`, in units in the last place of T at `exact`: 1e9 if only one of them is infinite or NaN.
double distance_in_ulp(float is, double exact);
double distance_in_ulp(double is, long double exact);

/// Passes arguments to the loops of one function in batches, so that the vectorized code is tested.
class UlpSweep {
 public:
  explicit UlpSweep(const MathFunction& function);

  struct Worst {
    runtime::host::Level level;
    double ulp = 0;
    float at = 0;
  };
  void take(float x);
  void take_bits(std::uint32_t bits);
  /// The largest error of each instruction set that has a loop for the function.
  const std::vector<Worst>& finish();

 private:
  void flush();
  const MathFunction& function_;
  std::vector<float> arguments_, results_;
  std::vector<double> exact_;
  std::vector<Worst> worst_;
};

}  // namespace cleave::bench
