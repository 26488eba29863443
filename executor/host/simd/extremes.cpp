// max, min, argmax and argmin for each instruction set: the loops of reducers-inl.h, and of row_reducers-inl.h for rows.
#ifdef CLEAVE_HAS_HIGHWAY
#include "executor/host/simd/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "executor/host/simd/extremes.cpp"
#include <hwy/foreach_target.h>
#endif

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "executor/host/independent.h"
#include "executor/host/simd/reducers.h"
#include "graph/ops/sums.h"

#ifdef CLEAVE_HAS_HIGHWAY
#include "executor/host/simd/halves-inl.h"

#if CLEAVE_SIMD
HWY_BEFORE_NAMESPACE();
namespace cleave::runtime::host::HWY_NAMESPACE {
namespace {

template <class T>
constexpr bool kLoopsFor = std::is_arithmetic_v<T>;
#include "executor/host/reducers-inl.h"
#include "executor/host/simd/half_reducers-inl.h"
#include "executor/host/simd/row_reducers-inl.h"

template <bool largest>
const Reducer* row_extreme(DType element) {
  if (element == DType::f32) return &kRowExtreme<float, largest>;
  if (const Reducer* half = half_reducer<kRowExtreme<float, largest>>(element)) return half;
  return element == DType::f64 ? &kRowExtreme<double, largest> : extreme_on<largest>(element);
}
template <bool largest>
const ExtremeFinder* row_finder(DType element) {
  if (element == DType::f32) return &kRowFinder<float, largest>;
  if (const ExtremeFinder* half = half_finder<kRowFinder<float, largest>>(element)) return half;
  return element == DType::f64 ? &kRowFinder<double, largest> : finder_on<largest>(element);
}

const Reducer* find_row_extreme(std::string_view op, DType element) {
  if (op == "max") return row_extreme<true>(element);
  return op == "min" ? row_extreme<false>(element) : nullptr;
}
const ExtremeFinder* find_row_place(std::string_view op, DType element) {
  if (op == "argmax") return row_finder<true>(element);
  return op == "argmin" ? row_finder<false>(element) : nullptr;
}

}  // namespace
}  // namespace cleave::runtime::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
#endif

#if !defined(CLEAVE_HAS_HIGHWAY) || HWY_ONCE
namespace cleave::runtime::host {

const Reducer* extreme_reducer([[maybe_unused]] Level level, [[maybe_unused]] std::string_view op, [[maybe_unused]] DType element) {
#ifdef CLEAVE_HAS_HIGHWAY
  CLEAVE_SIMD_RETURN(level, find_row_extreme(op, element));
#else
  return nullptr;
#endif
}

const ExtremeFinder* finder([[maybe_unused]] Level level, [[maybe_unused]] std::string_view op, [[maybe_unused]] DType element) {
#ifdef CLEAVE_HAS_HIGHWAY
  CLEAVE_SIMD_RETURN(level, find_row_place(op, element));
#else
  return nullptr;
#endif
}

}  // namespace cleave::runtime::host
#endif
