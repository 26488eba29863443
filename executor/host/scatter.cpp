// take_along_axis, gather_nd and the scatters, all as one walk over indices (graph/ops/places.h). Indices are checked before anything is
// written. A walk is divided among workers along an axis on which no two runs overlap, or inside the runs, so that updates of one position
// keep their order; a scatter changes its operand in place if the memory plan gives both the same storage.
#include <algorithm>
#include <array>
#include <cstring>

#include "executor/host/kernels.h"
#include "executor/host/strided_copy.h"
#include "graph/base/stop.h"
#include "graph/ops/places.h"
#include "graph/ops/wrapping.h"

namespace cleave::runtime::host {
namespace {

using ops::ComputedPositions;
using ops::Reduction;

/// The axes of the walk, outermost first. Neighbouring axes are merged if all offsets advance over them as over one.
struct Walked {
  struct Axis {
    std::int64_t extent = 1, fixed = 0, index = 0, number = 0;
  };
  std::array<Axis, ops::kMaxRank + 1> axes{};
  std::size_t rank = 0;

  explicit Walked(const ComputedPositions& places) {
    const auto numbers = row_major_strides(places.shape);
    for (std::size_t k = 0; k < places.shape.size(); ++k) {
      const Axis next{places.shape[k], places.fixed[k], places.indices[k], numbers[k]};
      if (next.extent == 1) continue;
      Axis* last = rank > 0 ? &axes[rank - 1] : nullptr;
      if (last && last->fixed == next.fixed * next.extent && last->index == next.index * next.extent) {
        *last = {last->extent * next.extent, next.fixed, next.index, next.number};
      } else {
        axes[rank++] = next;
      }
    }
    if (rank == 0) axes[rank++] = {};
  }
};

/// A part of the walk: indices `begin` to `end` of `axis`, and elements `low` to `high` of each run.
struct WalkPart {
  std::size_t axis = 0;
  std::int64_t begin = 0, end = 0, low = 0, high = 0;
};

/// Calls `visit(number, element)` for each run of the part, in order.
template <bool single, class Index, class Visit>
void each_run(const ComputedPositions& places, const Walked& walked, const WalkPart& part, const Index* indices, const Visit& visit) {
  std::array<std::int64_t, ops::kMaxRank + 1> at{};
  const std::size_t last = walked.rank - 1, axes = places.extents.size();
  const auto first_of = [&](std::size_t k) { return k == part.axis ? part.begin : 0; };
  const auto end_of = [&](std::size_t k) { return k == part.axis ? part.end : walked.axes[k].extent; };
  std::int64_t fixed = 0, index = 0, number = 0;
  for (std::size_t k = 0; k <= last; ++k) {
    if (first_of(k) >= end_of(k)) return;
    at[k] = first_of(k);
    fixed += at[k] * walked.axes[k].fixed;
    index += at[k] * walked.axes[k].index;
    number += at[k] * walked.axes[k].number;
  }
  const Walked::Axis inner = walked.axes[last];
  const std::int64_t count = end_of(last) - first_of(last);
  const std::int64_t extent = single ? places.extents[0] : 0, stride = single ? places.strides[0] : 0;
  const std::int64_t elements = part.high - part.low;
  StopLooks looks;
  for (;;) {
    for (std::int64_t i = 0; i < count; ++i) {
      looks.worked(elements);
      std::int64_t element = fixed + i * inner.fixed;
      const Index* own = indices + index + i * inner.index;
      if constexpr (single) {
        const auto chosen = static_cast<std::int64_t>(*own);
        element += (chosen < 0 ? chosen + extent : chosen) * stride;
      } else {
        for (std::size_t a = 0; a < axes; ++a) {
          const auto chosen = static_cast<std::int64_t>(own[a]);
          element += (chosen < 0 ? chosen + places.extents[a] : chosen) * places.strides[a];
        }
      }
      visit(number + i * inner.number, element);
    }
    std::size_t k = last;
    for (; k-- > 0;) {
      const Walked::Axis& axis = walked.axes[k];
      fixed += axis.fixed, index += axis.index, number += axis.number;
      if (++at[k] < end_of(k)) break;
      const std::int64_t back = at[k] - first_of(k);
      fixed -= back * axis.fixed, index -= back * axis.index, number -= back * axis.number;
      at[k] = first_of(k);
    }
    if (k == static_cast<std::size_t>(-1)) return;
  }
}

/// Divides the walk among the workers: along the longest axis that `splits` allows, or else inside long runs; short walks run undivided.
template <class Splits, class Run>
void share(const Walked& walked, std::int64_t run, std::int64_t bytes, Workers& workers, const Splits& splits, const Run& each) {
  constexpr std::int64_t kFewest = 16, kShortest = 64;
  WalkPart whole{0, 0, walked.axes[0].extent, 0, run};
  if (bytes < Workers::kWorthwhileBytes) return each(whole);
  std::size_t best = walked.rank;
  for (std::size_t k = 0; k < walked.rank; ++k) {
    if (!splits(walked.axes[k]) || walked.axes[k].extent < kFewest) continue;
    if (best == walked.rank || (walked.axes[best].extent < 4 * kFewest && walked.axes[k].extent > walked.axes[best].extent)) best = k;
  }
  const bool along_runs = best == walked.rank;
  if (along_runs && run < kShortest) return each(whole);
  const std::int64_t extent = along_runs ? run : walked.axes[best].extent;
  const std::int64_t grain = std::max<std::int64_t>(along_runs ? kShortest / 4 : 1, extent / 64);
  workers.each_part(extent, grain, [&](std::int64_t begin, std::int64_t end) {
    each(along_runs ? WalkPart{0, 0, walked.axes[0].extent, begin, end} : WalkPart{best, begin, end, 0, run});
  });
}

template <class Index>
Status check(const KernelCall& call, const ComputedPositions& places) {
  const auto* indices = call.inputs[1].as<Index>();
  const std::int64_t count = call.inputs[1].type->elements();
  if (places.extents.size() == 1) {  // all at once, because a wrong index is rare
    const auto extent = static_cast<std::uint64_t>(places.extents[0]);
    std::uint64_t outside = 0;
    each_with_looks(count, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const auto lifted = static_cast<std::uint64_t>(ops::to_position(indices[i])) + extent;
        outside |= static_cast<std::uint64_t>(lifted >= 2 * extent);
      }
    });
    if (outside == 0) return {};
  }
  if (const Index* wrong = ops::first_outside(places, indices, count))
    return Error{ops::no_such_place(call.op.name, std::to_string(ops::to_position(*wrong)), call.inputs[0].type->shape)};
  return {};
}

/// The state prepared before a run. Indices of types other than i32 and i64 are rare: their calls run the reference implementation.
class WalkKernel : public HostKernel {
 public:
  explicit WalkKernel(const KernelRequest& request)
      : places_(ops::places_of(request.op->name, request.input_types, *request.attributes)), walked_(places_) {}
  Status run(const KernelCall& call) final {
    switch (call.inputs[1].type->dtype) {
      case DType::i32: return run_with<std::int32_t>(call);
      case DType::i64: return run_with<std::int64_t>(call);
      default: return run_reference(call);
    }
  }

 protected:
  virtual void walk(const KernelCall& call, const std::int32_t* indices) const = 0;
  virtual void walk(const KernelCall& call, const std::int64_t* indices) const = 0;

  /// Calls `one` for each run if a run is one element selected by one index, else `run`.
  template <class Index, class One, class Run>
  void each(const WalkPart& part, const Index* indices, const One& one, const Run& run) const {
    if (places_.run == 1 && places_.extents.size() == 1) return each_run<true>(places_, walked_, part, indices, one);
    each_run<false>(places_, walked_, part, indices, run);
  }

  const ComputedPositions places_;
  const Walked walked_;

 private:
  template <class Index>
  Status run_with(const KernelCall& call) {
    if (Status status = check<Index>(call, places_); !status) return status;
    if (call.results[0].type->elements() > 0) walk(call, call.inputs[1].as<Index>());
    return {};
  }
};

// --- gathers -----------------------------------------------------------------------------------------------------------------------------

class GatherKernel final : public WalkKernel {
 public:
  using WalkKernel::WalkKernel;

 private:
  void walk(const KernelCall& call, const std::int32_t* indices) const override { gather(call, indices); }
  void walk(const KernelCall& call, const std::int64_t* indices) const override { gather(call, indices); }

  template <class Index>
  void gather(const KernelCall& call, const Index* indices) const {
    switch (size_of(call.results[0].type->dtype)) {
      case 1: return gather_as<std::uint8_t>(call, indices);
      case 2: return gather_as<std::uint16_t>(call, indices);
      case 4: return gather_as<std::uint32_t>(call, indices);
      default: return gather_as<std::uint64_t>(call, indices);
    }
  }

  template <class Element, class Index>
  void gather_as(const KernelCall& call, const Index* indices) const {
    const auto* from = call.inputs[0].as<Element>();
    auto* to = call.results[0].as<Element>();
    const auto all = [](const Walked::Axis&) { return true; };
    share(walked_, places_.run, call.results[0].type->bytes(), call.workers, all, [&](const WalkPart& part) {
      const auto one = [=](std::int64_t number, std::int64_t element) { to[number] = from[element]; };
      const auto run = [=, run = places_.run](std::int64_t number, std::int64_t element) {
        std::memcpy(to + number * run + part.low, from + element + part.low,
                    static_cast<std::size_t>(part.high - part.low) * sizeof(Element));
      };
      each(part, indices, one, run);
    });
  }
};

// --- scatters ----------------------------------------------------------------------------------------------------------------------------

class ScatterKernel final : public WalkKernel {
 public:
  explicit ScatterKernel(const KernelRequest& request)
      : WalkKernel(request), reduction_(ops::reduction_of(request.op->name, *request.attributes)) {
    whole_.add(request.result_types[0].bytes(), 1, 1);
  }

 private:
  void walk(const KernelCall& call, const std::int32_t* indices) const override { scatter(call, indices); }
  void walk(const KernelCall& call, const std::int64_t* indices) const override { scatter(call, indices); }

  template <class Index>
  void scatter(const KernelCall& call, const Index* indices) const {
    const TensorView &x = call.inputs[0], &result = call.results[0];
    if (x.data != result.data) whole_.run(x.data, result.data, 1, call.workers);
    if (call.inputs[2].type->elements() == 0) return;
    if (reduction_ == Reduction::none) {
      switch (size_of(result.type->dtype)) {
        case 1: return scatter_as<Reduction::none, std::uint8_t>(call, indices);
        case 2: return scatter_as<Reduction::none, std::uint16_t>(call, indices);
        case 4: return scatter_as<Reduction::none, std::uint32_t>(call, indices);
        default: return scatter_as<Reduction::none, std::uint64_t>(call, indices);
      }
    }
    dispatch(result.type->dtype, [&](auto zero) {
      using T = decltype(zero);
      switch (reduction_) {
        case Reduction::add: return scatter_as<Reduction::add, T>(call, indices);
        case Reduction::mul: return scatter_as<Reduction::mul, T>(call, indices);
        case Reduction::max: return scatter_as<Reduction::max, T>(call, indices);
        default: return scatter_as<Reduction::min, T>(call, indices);
      }
    });
  }

  template <Reduction reduction, class T, class Index>
  void scatter_as(const KernelCall& call, const Index* indices) const {
    const auto* updates = call.inputs[2].as<T>();
    auto* out = call.results[0].as<T>();
    const auto apart = [](const Walked::Axis& axis) { return axis.fixed != 0; };
    const auto step = [](T& to, T update) {
      if constexpr (reduction == Reduction::none) {
        to = update;
      } else {
        to = ops::store<T>(ops::reduced(reduction, ops::load(to), ops::load(update)));
      }
    };
    share(walked_, places_.run, call.inputs[2].type->bytes(), call.workers, apart, [&](const WalkPart& part) {
      const auto one = [=](std::int64_t number, std::int64_t element) { step(out[element], updates[number]); };
      const auto run = [=, run = places_.run](std::int64_t number, std::int64_t element) {
        T* const to = out + element;
        const T* const update = updates + number * run;
        for (std::int64_t r = part.low; r < part.high; ++r) step(to[r], update[r]);
      };
      each(part, indices, one, run);
    });
  }

  const Reduction reduction_;
  StridedCopy whole_;
};

template <class AKernel>
std::unique_ptr<HostKernel> prepare(const KernelRequest& request) {
  return std::make_unique<AKernel>(request);
}
template <class AKernel>
Status run_once(const KernelCall& call) {
  KernelRequest request;
  request.op = &call.op;
  request.attributes = &call.attributes;
  for (const TensorView& input : call.inputs) request.input_types.push_back(*input.type);
  request.result_types = {*call.results[0].type};
  return AKernel(request).run(call);
}
template <class AKernel>
constexpr KernelRow row() {
  return {run_once<AKernel>, prepare<AKernel>};
}

}  // namespace

constexpr KernelRow rows::take_along_axis = row<GatherKernel>();
constexpr KernelRow rows::gather_nd = row<GatherKernel>();
constexpr KernelRow rows::scatter = row<ScatterKernel>();
constexpr KernelRow rows::scatter_add = row<ScatterKernel>();
constexpr KernelRow rows::scatter_nd = row<ScatterKernel>();

}  // namespace cleave::runtime::host
