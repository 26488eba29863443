// Loops of the functions of math over f32 and f64. Operands that do not lie side by side are gathered piece by piece first.
#ifdef CLEAVE_HAS_HIGHWAY
#include "executor/host/simd/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "executor/host/simd/math.cpp"
#include <hwy/foreach_target.h>
#endif

#include <cmath>
#include <cstring>
#include <span>

#include "executor/host/simd/loops.h"
#include "graph/ops/scalars.h"

#ifdef CLEAVE_HAS_HIGHWAY
#include "executor/host/simd/erf-inl.h"
#include "executor/host/simd/math-inl.h"
#include "executor/host/simd/pow-inl.h"
#include "executor/host/simd/trigonometry-inl.h"

#if CLEAVE_SIMD
HWY_BEFORE_NAMESPACE();
namespace cleave::runtime::host::HWY_NAMESPACE {
namespace {

template <class T>
inline constexpr std::size_t kPiece = 512 / sizeof(T) * 4;  ///< elements that are gathered at once

/// `count` elements side by side: where they lie, or gathered.
template <class T>
const T* side_by_side(const std::byte* from, std::int64_t step, std::int64_t begin, std::size_t count, T* gathered) {
  const T* elements = reinterpret_cast<const T*>(from) + begin * step;
  if (step == 1) return elements;
  for (std::size_t i = 0; i < count; ++i) gathered[i] = elements[static_cast<std::int64_t>(i) * step];
  return gathered;
}

template <class F, class D, class... V>
HWY_INLINE bool takes_all(D d, V... v) {
  if constexpr (requires { F::takes(d, v...); }) {
    return hn::AllTrue(d, F::takes(d, v...));
  } else {
    return true;
  }
}

/// Side by side. Where the function does not take an argument, all of that vector are the scalar's work. Past the caches: to a place at a
/// multiple of a vector.
template <class F, class Scalar, bool past_cache, class T>
void unary(const T* in, T* out, std::size_t count) {
  const hn::ScalableTag<T> d;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t i = 0; i < count; i += lanes) {
    const std::size_t left = std::min(lanes, count - i);
    const auto x = left == lanes ? hn::LoadU(d, in + i) : load_part(d, in + i, left);
    if (!takes_all<F>(d, x)) {
      for (std::size_t k = i; k < i + left; ++k) out[k] = Scalar::template apply<T>(in[k]);
    } else if (left == lanes) {
      if constexpr (past_cache) {
        hn::Stream(F::of(d, x), d, out + i);
      } else {
        hn::StoreU(F::of(d, x), d, out + i);
      }
    } else {
      store_part(d, F::of(d, x), out + i, left);
    }
  }
}

template <class F, class Scalar, class T>
void binary(const T* a, const T* b, T* out, std::size_t count) {
  const hn::ScalableTag<T> d;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t i = 0; i < count; i += lanes) {
    const std::size_t left = std::min(lanes, count - i);
    const auto x = left == lanes ? hn::LoadU(d, a + i) : load_part(d, a + i, left);
    const auto y = left == lanes ? hn::LoadU(d, b + i) : load_part(d, b + i, left);
    if (!takes_all<F>(d, x, y)) {
      for (std::size_t k = i; k < i + left; ++k) out[k] = Scalar::template apply<T>(a[k], b[k]);
    } else if (left == lanes) {
      hn::StoreU(F::of(d, x, y), d, out + i);
    } else {
      store_part(d, F::of(d, x, y), out + i, left);
    }
  }
}

template <class F, class Scalar, bool past_cache, class T>
void loop(const std::byte* const* operands, const std::int64_t* steps, std::byte* results, std::int64_t count) {
  T* out = reinterpret_cast<T*>(results);
  if constexpr (past_cache) {
    if (reinterpret_cast<std::uintptr_t>(results) % HWY_MAX_BYTES != 0) return loop<F, Scalar, false, T>(operands, steps, results, count);
  }
  const bool direct = steps[0] == 1 && (Scalar::arity == 1 || steps[1] == 1);
  const std::int64_t piece = direct ? count : static_cast<std::int64_t>(kPiece<T>);
  HWY_ALIGN T gathered[2][kPiece<T>];
  for (std::int64_t begin = 0; begin < count; begin += piece) {
    const auto size = static_cast<std::size_t>(std::min(piece, count - begin));
    const T* a = side_by_side(operands[0], steps[0], begin, size, gathered[0]);
    if constexpr (Scalar::arity == 1) {
      unary<F, Scalar, past_cache>(a, out + begin, size);
    } else {
      binary<F, Scalar>(a, side_by_side(operands[1], steps[1], begin, size, gathered[1]), out + begin, size);
    }
  }
}

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
  static constexpr Row rows[] = {
      row_of<ExpFunction, scalars::Exp>(),         row_of<Expm1Function, scalars::Expm1>(), row_of<LogFunction, scalars::Log>(),
      row_of<Log2Function, scalars::Log2>(),       row_of<Log1pFunction, scalars::Log1p>(), row_of<TanhFunction, scalars::Tanh>(),
      row_of<SigmoidFunction, scalars::Sigmoid>(), row_of<SinhFunction, scalars::Sinh>(),   row_of<CoshFunction, scalars::Cosh>(),
      row_of<ErfFunction, scalars::Erf>(),         row_of<GeluFunction, scalars::Gelu>(),   row_of<PowFunction, scalars::Pow>(),
      row_of<SineFunction<0>, scalars::Sin>(),     row_of<SineFunction<1>, scalars::Cos>(), row_of<TanFunction, scalars::Tan>(),
      row_of<AsinFunction, scalars::Asin>(),       row_of<AcosFunction, scalars::Acos>(),   row_of<AtanFunction, scalars::Atan>(),
      row_of<Atan2Function, scalars::Atan2>()};
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
