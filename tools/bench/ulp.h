// How exact the host's functions of math are: the functions with their bounds, and a sweep over numbers of f32 by the executor's own loops,
// every instruction set of the machine, against the C library in double. For ulp_sweep, which takes all 2^32, and for the test, which takes
// some. A unit in the last place (ulp) is that of the exact result.
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
  /// The meaning, which says what special values give.
  float (*single)(float);
  double (*both)(double);
  double single_bound, both_bound;   ///< both_bound: of f64; 0 where there is no loop for it
  std::vector<std::uint32_t> worst;  ///< bits of the arguments at which a sweep over all f32 found the largest distances
};
const std::vector<MathFunction>& math_functions();

/// How far `is` lies from `exact`, in units in the last place of T at `exact`: 1e9 where only one of them is infinite or NaN.
double distance_in_ulp(float is, double exact);
double distance_in_ulp(double is, long double exact);

/// Feeds arguments to the loops of one function, piece by piece, so that they are the vectors' work.
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
  /// What was found by each instruction set that has a loop for the function.
  const std::vector<Worst>& finish();

 private:
  void flush();
  const MathFunction& function_;
  std::vector<float> arguments_, results_;
  std::vector<double> exact_;
  std::vector<Worst> worst_;
};

}  // namespace cleave::bench
