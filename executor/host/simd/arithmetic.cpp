// Loops of arithmetic and rounding for each instruction set, vectorised by the compiler from the scalar expressions (plain_loops-inl.h).
#ifdef CLEAVE_HAS_HIGHWAY
#include "executor/host/simd/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "executor/host/simd/arithmetic.cpp"
#include <hwy/foreach_target.h>
#endif

#include <span>

#include "executor/host/independent.h"
#include "executor/host/simd/loops.h"
#include "graph/ops/elementwise.h"

#ifdef CLEAVE_HAS_HIGHWAY
#include <hwy/highway.h>

#if CLEAVE_SIMD
HWY_BEFORE_NAMESPACE();
namespace cleave::runtime::host::HWY_NAMESPACE {
namespace {

#include "executor/host/plain_loops-inl.h"
#include "executor/host/simd/plain_rows-inl.h"

RowLoop find(std::string_view op, DType operand) {
  static constexpr Row rows[] = {
      row_of<scalars::Add>(),      row_of<scalars::Subtract>(),   row_of<scalars::Multiply>(), row_of<scalars::Divide>(),
      row_of<scalars::Negative>(), row_of<scalars::Abs>(),        row_of<scalars::Sign>(),     row_of<scalars::Minimum>(),
      row_of<scalars::Maximum>(),  row_of<scalars::Square>(),     row_of<scalars::Relu>(),     row_of<scalars::Sqrt>(),
      row_of<scalars::Rsqrt>(),    row_of<scalars::Reciprocal>(), row_of<scalars::Floor>(),    row_of<scalars::Ceil>(),
      row_of<scalars::Round>(),    row_of<scalars::Trunc>(),      row_of<scalars::Clip>(),     row_of<scalars::CopySign>(),
  };
  return find_in(rows, op, operand);
}

}  // namespace
}  // namespace cleave::runtime::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
#endif

#if !defined(CLEAVE_HAS_HIGHWAY) || HWY_ONCE
namespace cleave::runtime::host {

RowLoop arithmetic_loop([[maybe_unused]] Level level, [[maybe_unused]] std::string_view op, [[maybe_unused]] DType operand) {
#ifdef CLEAVE_HAS_HIGHWAY
  CLEAVE_SIMD_RETURN(level, find(op, operand));
#else
  return nullptr;
#endif
}

}  // namespace cleave::runtime::host
#endif
