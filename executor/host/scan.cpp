// cumulative_sum and cumulative_prod. A running sum is a dependency chain, so a row is divided into parts whose sums are computed first, by
// vectors: then each part runs from its predecessor's end, also by vectors or several parts at once. The division depends on a row's length
// alone, never on the threads. Products, and sums that are exclusive or run from the end, are computed for several rows or columns side by
// side.
#include <algorithm>
#include <array>
#include <type_traits>

#include "executor/host/kernels.h"
#include "executor/host/long_copy.h"
#include "executor/host/simd/reducers.h"
#include "executor/host/simd/scan.h"
#include "graph/base/stop.h"
#include "graph/ops/rules.h"
#include "graph/ops/sums.h"

namespace cleave::runtime::host {
namespace {

constexpr std::int64_t kParts = 8;
constexpr std::int64_t kPart = 520;  ///< elements; not a power of two, so that the parts do not compete for the same cache sets
constexpr std::int64_t kPiece = kParts * kPart * 8, kMostPieces = 64;
constexpr std::int64_t kWidth = 512;  ///< columns at once

/// Running sums of elements of T, stored as R.
template <class T, class R>
class Scan {
 public:
  using A = ops::Accumulator<T>;
  Scan(const Reducer* reducer, RunningSums by_vectors) : reducer_(reducer), by_vectors_(by_vectors) {}

  /// The sum of a piece, bit for bit as `run_piece` computes it.
  [[nodiscard]] A sum_of_piece(const T* in, std::int64_t count) const {
    A sum = 0;
    StopLooks looks;
    for (std::int64_t begin = 0; begin < count; begin += kPart) {
      looks.worked(kPart);
      sum = sum + sum_of(in + begin, std::min(kPart, count - begin));
    }
    return sum;
  }

  /// Writes running sums from `base` on; returns the sum of the piece alone.
  A run_piece(const T* in, R* out, std::int64_t count, A base) const {
    A sum = 0;
    std::int64_t begin = 0;
    StopLooks looks;
    if constexpr (std::is_same_v<A, double>) {
      for (; by_vectors_ != nullptr && begin < count; begin += kPart) {
        looks.worked(kPart);
        const std::int64_t size = std::min(kPart, count - begin);
        by_vectors_(reinterpret_cast<const std::byte*>(in + begin), reinterpret_cast<std::byte*>(out + begin), size, base + sum);
        sum = sum + sum_of(in + begin, size);
      }
    }
    for (; begin + kParts * kPart <= count; begin += kParts * kPart) {
      looks.worked(kParts * kPart);
      A running[kParts];
      for (std::int64_t k = 0; k < kParts; ++k) {
        running[k] = base + sum;
        sum = sum + sum_of(in + begin + k * kPart, kPart);
      }
      for (std::int64_t i = 0; i < kPart; ++i) {
        for (std::int64_t k = 0; k < kParts; ++k) {
          const std::int64_t at = begin + k * kPart + i;
          running[k] = running[k] + ops::widen(in[at]);
          out[at] = ops::store<R>(running[k]);
        }
      }
    }
    for (; begin < count; begin += kPart) {
      const std::int64_t end = std::min(begin + kPart, count);
      A running = base + sum;
      for (std::int64_t at = begin; at < end; ++at) {
        running = running + ops::widen(in[at]);
        out[at] = ops::store<R>(running);
      }
      sum = sum + sum_of(in + begin, end - begin);
    }
    return sum;
  }

  void run_row(const T* in, R* out, std::int64_t count, Workers& workers) const {
    const std::int64_t piece = std::max(kPiece, (count + kMostPieces - 1) / kMostPieces), pieces = (count + piece - 1) / piece;
    if (workers.threads() == 1 || pieces == 1) {
      A base = 0;
      for (std::int64_t begin = 0; begin < count; begin += piece) {
        base = base + run_piece(in + begin, out + begin, std::min(piece, count - begin), base);
      }
      return;
    }
    std::array<A, kMostPieces> sums{};
    workers.each_part(count, piece, [&](std::int64_t begin, std::int64_t end) {
      sums[static_cast<std::size_t>(begin / piece)] = sum_of_piece(in + begin, end - begin);
    });
    A base = 0;
    for (A& sum : sums) {
      const A next = base + sum;
      sum = base;
      base = next;
    }
    workers.each_part(count, piece, [&](std::int64_t begin, std::int64_t end) {
      run_piece(in + begin, out + begin, end - begin, sums[static_cast<std::size_t>(begin / piece)]);
    });
  }

  /// Scans columns side by side.
  void run_columns(const T* in, R* out, std::int64_t count, std::int64_t width, std::int64_t stride) const {
    A running[kWidth];
    for (std::int64_t j = 0; j < width; ++j) running[j] = 0;
    StopLooks looks;
    for (std::int64_t row = 0; row < count; ++row, in += stride, out += stride) {
      looks.worked(width);
      for (std::int64_t j = 0; j < width; ++j) running[j] = running[j] + ops::widen(in[j]);
      for (std::int64_t j = 0; j < width; ++j) out[j] = ops::store<R>(running[j]);
    }
  }

 private:
  [[nodiscard]] A sum_of(const T* in, std::int64_t count) const {
    A sum = 0;
    if (reducer_ != nullptr) {
      reducer_->take_row(reinterpret_cast<const std::byte*>(in), count, reinterpret_cast<std::byte*>(&sum));
    } else {
      for (std::int64_t i = 0; i < count; ++i) sum = sum + ops::widen(in[i]);
    }
    return sum;
  }
  const Reducer* reducer_;
  RunningSums by_vectors_;
};

struct Extents {
  std::int64_t outer, count, inner;
};

template <class T, class R>
void scan(const KernelCall& call, const Extents& n) {
  using By = Scan<T, R>;
  const By by = levels().empty()
                    ? By(nullptr, nullptr)
                    : By(sum_reducer(levels().front(), "sum", DTypeOf<T>::value), running_sums(levels().front(), DTypeOf<T>::value));
  const T* in = call.inputs[0].as<T>();
  R* out = call.results[0].as<R>();
  Workers& workers = call.results[0].type->bytes() < Workers::kWorthwhileBytes ? Workers::none() : call.workers;
  if (n.inner == 1 && n.outer < 8) {
    for (std::int64_t row = 0; row < n.outer; ++row) by.run_row(in + row * n.count, out + row * n.count, n.count, workers);
  } else if (n.inner == 1) {
    workers.each_part(n.outer, std::max<std::int64_t>(1, kPiece / 4 / n.count), [&](std::int64_t begin, std::int64_t end) {
      for (; begin < end; ++begin) by.run_row(in + begin * n.count, out + begin * n.count, n.count, Workers::none());
    });
  } else {
    const std::int64_t panels = (n.inner + kWidth - 1) / kWidth, work = n.count * std::min(n.inner, kWidth);
    workers.each_part(n.outer * panels, std::max<std::int64_t>(1, kPiece / 4 / work), [&](std::int64_t begin, std::int64_t end) {
      for (; begin < end; ++begin) {
        const std::int64_t column = begin % panels * kWidth, at = begin / panels * n.count * n.inner + column;
        by.run_columns(in + at, out + at, n.count, std::min(kWidth, n.inner - column), n.inner);
      }
    });
  }
}

std::optional<Extents> extents_of(const KernelCall& call) {
  const TensorType& type = *call.inputs[0].type;
  const std::optional<int> axis = ops::find_axis(call.attributes.get_or<std::int64_t>("axis", 0), type.rank());
  if (!axis) return std::nullopt;
  Extents n{1, type.shape[static_cast<std::size_t>(*axis)], 1};
  for (auto i = static_cast<std::size_t>(*axis) + 1; i < type.shape.size(); ++i) n.inner *= type.shape[i];
  n.outer = type.elements() / n.count / n.inner;
  return n;
}

/// A scan along a line is sequential, but lines are independent: several are scanned side by side.
template <bool product, class T, class R>
void scan_lines(const KernelCall& call, const Extents& n) {
  using A = ops::Accumulator<T>;
  constexpr std::int64_t kTogether = 8;
  const bool exclusive = call.attributes.get_or("exclusive", false), reverse = call.attributes.get_or("reverse", false);
  const std::int64_t lines = n.outer * n.inner;
  const auto start = [&](std::int64_t line) {
    return line / n.inner * n.count * n.inner + line % n.inner + (reverse ? (n.count - 1) * n.inner : 0);
  };
  const std::int64_t step = reverse ? -n.inner : n.inner;
  const auto run = [&](const T* in, R* out, auto together, std::int64_t line) {
    std::array<A, static_cast<std::size_t>(decltype(together)::value)> running;
    std::array<std::int64_t, static_cast<std::size_t>(decltype(together)::value)> at;
    running.fill(A(product ? 1 : 0));
    for (std::size_t l = 0; l < at.size(); ++l) at[l] = start(line + static_cast<std::int64_t>(l));
    each_long(n.count, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t k = first; k < last; ++k) {
        for (std::size_t l = 0; l < at.size(); ++l) {
          if (exclusive) out[at[l]] = ops::store<R>(running[l]);
          running[l] = product ? running[l] * ops::widen(in[at[l]]) : running[l] + ops::widen(in[at[l]]);
          if (!exclusive) out[at[l]] = ops::store<R>(running[l]);
          at[l] += step;
        }
      }
    });
  };
  const std::int64_t grain = std::max<std::int64_t>(kTogether, kPiece / 4 / n.count);
  call.workers.each_part(lines, grain, [&](std::int64_t begin, std::int64_t end) {
    const T* in = call.inputs[0].as<T>();
    R* out = call.results[0].as<R>();
    for (; begin + kTogether <= end; begin += kTogether) run(in, out, std::integral_constant<std::int64_t, kTogether>(), begin);
    for (; begin < end; ++begin) run(in, out, std::integral_constant<std::int64_t, 1>(), begin);
  });
}

template <bool product>
Status scan_kernel(const KernelCall& call) {
  const TensorType& type = *call.inputs[0].type;
  if (type.elements() == 0) return {};
  const std::optional<Extents> n = extents_of(call);
  if (!n) return run_reference(call);
  const bool plain = !product && !call.attributes.get_or("exclusive", false) && !call.attributes.get_or("reverse", false);
  dispatch(type.dtype, [&](auto element) {
    using T = decltype(element);
    ops::dispatch_sum<T>(call.results[0].type->dtype, [&](auto sum) {
      using R = decltype(sum);
      if (plain) return scan<T, R>(call, *n);
      scan_lines<product, T, R>(call, *n);
    });
  });
  return {};
}

}  // namespace

constexpr KernelRow rows::cumulative_sum{scan_kernel<false>};
constexpr KernelRow rows::cumulative_prod{scan_kernel<true>};

}  // namespace cleave::runtime::host
