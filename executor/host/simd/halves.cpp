// Loops of element-wise ops over f16 and bf16 for each instruction set: pieces are widened to f32, the op's loop for f32 runs on them, and
// the results are rounded back, as the scalar reference does element by element.
#ifdef CLEAVE_HAS_HIGHWAY
#include "executor/host/simd/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "executor/host/simd/halves.cpp"
#include <hwy/foreach_target.h>
#endif

#include <algorithm>

#include "executor/host/simd/loops.h"
#include "graph/ops/elementwise.h"

#ifdef CLEAVE_HAS_HIGHWAY
#include "executor/host/simd/halves-inl.h"

#if CLEAVE_SIMD
HWY_BEFORE_NAMESPACE();
namespace cleave::runtime::host::HWY_NAMESPACE {
namespace {

#if HWY_TARGET == HWY_AVX3
constexpr Level kLevel = Level::avx512;
#elif HWY_TARGET == HWY_AVX2
constexpr Level kLevel = Level::avx2;
#else
constexpr Level kLevel = Level::neon;
#endif

/// The op's loop over f32.
template <class Op>
RowLoop single_loop() {
  static const RowLoop found = [] {
    const RowLoop fast = simd_loop(kLevel, Op::name, DType::f32);
    return fast != nullptr ? fast : ops::element_loop<Op, float>;
  }();
  return found;
}

constexpr std::int64_t kPiece = 1024;         ///< so that all operands of a piece stay in the first-level cache
constexpr std::int64_t kApart = kPiece + 64;  ///< not a power of two, to avoid 4K aliasing between loads and stores

/// Widens `count` elements to contiguous f32; of an operand with step 0, only the one.
template <class H>
void gather(const H* from, std::int64_t step, std::int64_t count, float* to) {
  if (step == 0) {
    to[0] = static_cast<float>(from[0]);
  } else if (step == 1) {
    halves::widen(from, to, count);
  } else {
    H picked[kPiece];
    for (std::int64_t i = 0; i < count; ++i) picked[i] = from[i * step];
    halves::widen(picked, to, count);
  }
}

template <class Op, class H>
void loop(const std::byte* const* operands, const std::int64_t* steps, std::byte* results, std::int64_t count) {
  const RowLoop single = single_loop<Op>();
  alignas(64) float wide[Op::arity + 1][kApart];
  float* made = wide[Op::arity];
  const std::byte* places[3];
  std::int64_t moves[3];
  for (int k = 0; k < 3; ++k) {
    const int operand = k < Op::arity ? k : 0;
    places[k] = reinterpret_cast<const std::byte*>(wide[operand]);
    moves[k] = steps[operand] == 0 ? 0 : 1;
  }
  for (std::int64_t begin = 0; begin < count; begin += kPiece) {
    const std::int64_t size = std::min(kPiece, count - begin);
    for (int k = 0; k < Op::arity; ++k) {
      if (begin == 0 || steps[k] != 0) gather(reinterpret_cast<const H*>(operands[k]) + begin * steps[k], steps[k], size, wide[k]);
    }
    if constexpr (Op::predicate) {
      single(places, moves, results + begin, size);
    } else {
      single(places, moves, reinterpret_cast<std::byte*>(made), size);
      halves::narrow(made, reinterpret_cast<H*>(results) + begin, size);
    }
  }
}

struct Row {
  std::string_view op;
  RowLoop f16, bf16;
};
template <class Op>
constexpr Row row_of() {
  if constexpr (!ops::accepts(Op::domain, DType::f16)) {
    return {Op::name, nullptr, nullptr};
  } else {
    return {Op::name, loop<Op, Half>, loop<Op, BFloat16>};
  }
}

RowLoop find(std::string_view op, DType operand) {
  static constexpr Row rows[] = {
// NOLINTNEXTLINE(cppcoreguidelines-macro-usage)
#define CLEAVE_OP(family, Struct, name, ...) row_of<scalars::Struct>(),
#include "graph/ops/elementwise.def"
  };
  for (const Row& row : rows) {
    if (row.op == op) return operand == DType::f16 ? row.f16 : operand == DType::bf16 ? row.bf16 : nullptr;
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

RowLoop half_loop([[maybe_unused]] Level level, [[maybe_unused]] std::string_view op, [[maybe_unused]] DType operand) {
#ifdef CLEAVE_HAS_HIGHWAY
  if (operand != DType::f16 && operand != DType::bf16) return nullptr;
  CLEAVE_SIMD_RETURN(level, find(op, operand));
#else
  return nullptr;
#endif
}

}  // namespace cleave::runtime::host
#endif
