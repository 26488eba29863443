// Loops of comparisons and logic for each instruction set, vectorised by the compiler from the scalar expressions (plain_loops-inl.h).
#ifdef CLEAVE_HAS_HIGHWAY
#include "executor/host/simd/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "executor/host/simd/comparison.cpp"
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
      row_of<scalars::Equal>(),
      row_of<scalars::NotEqual>(),
      row_of<scalars::Less>(),
      row_of<scalars::LessEqual>(),
      row_of<scalars::Greater>(),
      row_of<scalars::GreaterEqual>(),
      row_of<scalars::IsNan>(),
      row_of<scalars::IsFinite>(),
      row_of<scalars::IsInf>(),
      row_of<scalars::LogicalAnd>(),
      row_of<scalars::LogicalOr>(),
      row_of<scalars::LogicalXor>(),
      row_of<scalars::LogicalNot>(),
      row_of<scalars::BitwiseAnd>(),
      row_of<scalars::BitwiseOr>(),
      row_of<scalars::BitwiseXor>(),
      row_of<scalars::BitwiseInvert>(),
      row_of<scalars::SignBit>(),
      row_of<scalars::BitwiseLeftShift>(),
      row_of<scalars::BitwiseRightShift>(),
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

RowLoop comparison_loop([[maybe_unused]] Level level, [[maybe_unused]] std::string_view op, [[maybe_unused]] DType operand) {
#ifdef CLEAVE_HAS_HIGHWAY
  CLEAVE_SIMD_RETURN(level, find(op, operand));
#else
  return nullptr;
#endif
}

}  // namespace cleave::runtime::host
#endif
