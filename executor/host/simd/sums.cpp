// sum, prod, any and all for each instruction set: the loops of reducers-inl.h, and of row_reducers-inl.h for rows.
#ifdef CLEAVE_HAS_HIGHWAY
#include "executor/host/simd/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "executor/host/simd/sums.cpp"
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

bool is_half(DType element) {
  return element == DType::f16 || element == DType::bf16;
}

const Reducer* find_row_sum(std::string_view op, DType element) {
  const bool sums = op == "sum" || op == "mean";
  if (sums && element == DType::f32) return &kRowSum<float>;
  if (sums && element == DType::f64) return &kRowSum<double>;
  if (sums && is_half(element)) return half_reducer<kRowSum<float>>(element);
  if (op == "prod" && is_half(element)) return half_reducer<ReducerOf<ProductOfElements<float>, float>::reducer>(element);
  if (op == "any" && is_half(element)) return half_reducer<ReducerOf<AnyElement<float>, float>::reducer>(element);
  if (op == "all" && is_half(element)) return half_reducer<ReducerOf<AllElements<float>, float>::reducer>(element);
  return find_sum(op, element);
}

}  // namespace
}  // namespace cleave::runtime::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
#endif

#if !defined(CLEAVE_HAS_HIGHWAY) || HWY_ONCE
namespace cleave::runtime::host {

const Reducer* sum_reducer([[maybe_unused]] Level level, [[maybe_unused]] std::string_view op, [[maybe_unused]] DType element) {
#ifdef CLEAVE_HAS_HIGHWAY
  CLEAVE_SIMD_RETURN(level, find_row_sum(op, element));
#else
  return nullptr;
#endif
}

}  // namespace cleave::runtime::host
#endif
