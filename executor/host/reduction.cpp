// Reductions over neighbouring axes, the common case: the operand as [outer, count, inner]. Sums run in double or wrapping i64, as the
// meanings do. Other shapes and ops run their meaning.
#include <optional>

#include "executor/host/kernels.h"
#include "graph/ops/rules.h"
#include "graph/ops/sums.h"

namespace cleave::runtime::host {
namespace {

struct Extents {
  std::int64_t outer = 1, count = 1, inner = 1;
};

/// Nothing if the reduced axes are not neighbours.
std::optional<Extents> extents_of(const KernelCall& call) {
  const Shape& shape = call.inputs[0].type->shape;
  const std::vector<bool> marked = ops::marked_axes(call.attributes, call.inputs[0].type->rank());
  Extents extents;
  int part = 0;  // 0: before the reduced axes, 1: in them, 2: behind
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] == 1) continue;
    if (marked[axis] ? part == 2 : false) return std::nullopt;
    if (marked[axis]) part = 1;
    if (!marked[axis] && part == 1) part = 2;
    (part == 0 ? extents.outer : part == 1 ? extents.count : extents.inner) *= shape[axis];
  }
  return extents;
}

/// Sums in lanes that the compiler can keep apart; the same order in every run. Why they must not change their sign on the way: Wrapping.
template <class T>
ops::Accumulator<T> sum_of(const T* elements, std::int64_t count) {
  constexpr std::int64_t kLanes = 8;
  ops::Accumulator<T> lanes[kLanes] = {};
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (std::int64_t lane = 0; lane < kLanes; ++lane) lanes[lane] = lanes[lane] + ops::widen(elements[i + lane]);
  }
  ops::Accumulator<T> sum = 0;
  for (const auto& lane : lanes) sum = sum + lane;
  for (; i < count; ++i) sum = sum + ops::widen(elements[i]);
  return sum;
}

template <bool mean, class T, class R>
void sum_into(const Extents& n, const T* in, R* out) {
  using A = ops::Accumulator<T>;
  auto finish = [&](A sum) {
    if constexpr (mean) {
      return ops::store<R>(sum / static_cast<A>(n.count));
    } else {
      return ops::store<R>(sum);
    }
  };
  if (n.inner == 1) {
    for (std::int64_t o = 0; o < n.outer; ++o) out[o] = finish(sum_of(in + o * n.count, n.count));
    return;
  }
  std::vector<A> sums(static_cast<std::size_t>(n.inner));
  for (std::int64_t o = 0; o < n.outer; ++o) {
    std::fill(sums.begin(), sums.end(), A(0));
    for (std::int64_t c = 0; c < n.count; ++c) {
      const T* line = in + (o * n.count + c) * n.inner;
      for (std::int64_t i = 0; i < n.inner; ++i)
        sums[static_cast<std::size_t>(i)] = sums[static_cast<std::size_t>(i)] + ops::widen(line[i]);
    }
    for (std::int64_t i = 0; i < n.inner; ++i) out[o * n.inner + i] = finish(sums[static_cast<std::size_t>(i)]);
  }
}

template <bool mean>
Status sum_kernel(const KernelCall& call) {
  const std::optional<Extents> n = extents_of(call);
  if (!n) return run_meaning(call);
  dispatch(call.inputs[0].type->dtype, [&](auto zero) {
    using T = decltype(zero);
    using R = std::conditional_t<mean, T, ops::SumOf<T>>;
    sum_into<mean>(*n, call.inputs[0].as<T>(), call.results[0].as<R>());
  });
  return {};
}

/// The first extreme of `count` elements `step` apart; a NaN beats every number.
template <bool largest, class T>
std::int64_t extreme_of(const T* elements, std::int64_t count, std::int64_t step) {
  std::int64_t best = 0;
  auto value = ops::load(elements[0]);
  for (std::int64_t i = 1; i < count && value == value; ++i) {
    const auto x = ops::load(elements[i * step]);
    if (x != x || (largest ? x > value : x < value)) {
      value = x;
      best = i;
    }
  }
  return best;
}

template <bool largest, bool place>
Status extreme_kernel(const KernelCall& call) {
  const std::optional<Extents> n = extents_of(call);
  if (!n || n->count == 0) return run_meaning(call);
  dispatch(call.inputs[0].type->dtype, [&](auto zero) {
    using T = decltype(zero);
    const T* in = call.inputs[0].as<T>();
    for (std::int64_t o = 0; o < n->outer; ++o) {
      for (std::int64_t i = 0; i < n->inner; ++i) {
        const T* elements = in + o * n->count * n->inner + i;
        const std::int64_t best = extreme_of<largest>(elements, n->count, n->inner);
        if constexpr (place) {
          call.results[0].as<std::int32_t>()[o * n->inner + i] = static_cast<std::int32_t>(best);
        } else {
          call.results[0].as<T>()[o * n->inner + i] = elements[best * n->inner];
        }
      }
    }
  });
  return {};
}

}  // namespace

std::span<const KernelRow> reduction_kernels() {
  static constexpr KernelRow rows[] = {
      {"sum", sum_kernel<false>},
      {"mean", sum_kernel<true>},
      {"max", extreme_kernel<true, false>},
      {"min", extreme_kernel<false, false>},
      {"argmax", extreme_kernel<true, true>},
      {"argmin", extreme_kernel<false, true>},
  };
  return rows;
}

}  // namespace cleave::runtime::host
