// Loops of the functions of math-inl.h over f32 and f64. Operands that are not contiguous are gathered piece by piece first.
#ifdef CLEAVE_HAS_HIGHWAY
#include "executor/host/simd/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "executor/host/simd/math.cpp"
#include <hwy/foreach_target.h>
#endif

#include <algorithm>
#include <cmath>
#include <cstring>

#include "executor/host/simd/loops.h"
#include "graph/ops/elementwise.h"

#ifdef CLEAVE_HAS_HIGHWAY
#include "executor/host/simd/erf-inl.h"
#include "executor/host/simd/logarithms-inl.h"
#include "executor/host/simd/math-inl.h"
#include "executor/host/simd/pow-inl.h"
#include "executor/host/simd/trigonometry-inl.h"

#if CLEAVE_SIMD
HWY_BEFORE_NAMESPACE();
namespace cleave::runtime::host::HWY_NAMESPACE {
namespace {

#include "executor/host/simd/function_loops-inl.h"

struct Row {
  std::string_view op;
  RowLoop single, both;
  RowLoop single_past_cache, both_past_cache;
};

template <class F, class Scalar>
constexpr Row row_of() {
  constexpr bool alone = Scalar::arity == 1;
  return {Scalar::name, loop<F, Scalar, false, float>, loop<F, Scalar, false, double>, alone ? loop<F, Scalar, alone, float> : nullptr,
          alone ? loop<F, Scalar, alone, double> : nullptr};
}

RowLoop find(std::string_view op, DType operand, bool past_cache) {
  static constexpr Row rows[] = {row_of<ExpFunction, scalars::Exp>(),
                                 row_of<Expm1Function, scalars::Expm1>(),
                                 row_of<LogFunction, scalars::Log>(),
                                 row_of<Log2Function, scalars::Log2>(),
                                 row_of<Log1pFunction, scalars::Log1p>(),
                                 row_of<TanhFunction, scalars::Tanh>(),
                                 row_of<SigmoidFunction, scalars::Sigmoid>(),
                                 row_of<SinhFunction, scalars::Sinh>(),
                                 row_of<CoshFunction, scalars::Cosh>(),
                                 row_of<ErfFunction, scalars::Erf>(),
                                 row_of<GeluFunction, scalars::Gelu>(),
                                 row_of<PowFunction, scalars::Pow>(),
                                 row_of<SineFunction<0>, scalars::Sin>(),
                                 row_of<SineFunction<1>, scalars::Cos>(),
                                 row_of<TanFunction, scalars::Tan>(),
                                 row_of<AsinFunction, scalars::Asin>(),
                                 row_of<AcosFunction, scalars::Acos>(),
                                 row_of<AtanFunction, scalars::Atan>(),
                                 row_of<Atan2Function, scalars::Atan2>(),
                                 row_of<Log10Function, scalars::Log10>(),
                                 row_of<AsinhFunction, scalars::Asinh>(),
                                 row_of<AcoshFunction, scalars::Acosh>(),
                                 row_of<AtanhFunction, scalars::Atanh>(),
                                 row_of<HypotFunction, scalars::Hypot>(),
                                 row_of<LogAddExpFunction, scalars::LogAddExp>()};
  for (const Row& row : rows) {
    if (row.op != op) continue;
    if (operand == DType::f32) return past_cache ? row.single_past_cache : row.single;
    if (operand == DType::f64) return past_cache ? row.both_past_cache : row.both;
  }
  return nullptr;
}

}  // namespace
}  // namespace cleave::runtime::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
#endif

#if !defined(CLEAVE_HAS_HIGHWAY) || HWY_ONCE
namespace cleave::runtime::host {

RowLoop math_loop([[maybe_unused]] Level level, [[maybe_unused]] std::string_view op, [[maybe_unused]] DType operand) {
#ifdef CLEAVE_HAS_HIGHWAY
  CLEAVE_SIMD_RETURN(level, find(op, operand, false));
#else
  return nullptr;
#endif
}

RowLoop math_loop_past_cache([[maybe_unused]] Level level, [[maybe_unused]] std::string_view op, [[maybe_unused]] DType operand) {
#ifdef CLEAVE_HAS_HIGHWAY
  CLEAVE_SIMD_RETURN(level, find(op, operand, true));
#else
  return nullptr;
#endif
}

}  // namespace cleave::runtime::host
#endif
