// sort, argsort, top_k and unique: radix sort on keys that have the order of the reference implementation, in memory kept between calls.
#include "executor/host/kernels.h"
#include "executor/host/long_copy.h"
#include "executor/host/sorting/sorter.h"
#include "executor/host/sorting/top.h"

namespace cleave::runtime::host {
namespace {

class Sorting : public HostKernel {
 protected:
  SortMemory memory_;
};

template <bool gives_positions>
class Sort final : public Sorting {
 public:
  Status run(const KernelCall& call) override {
    const TensorType& x = *call.inputs[0].type;
    if (x.elements() == 0) return {};
    const Lines lines(x.shape, call.attributes.get_or<std::int64_t>("axis", -1));
    const bool descending = call.attributes.get_or("descending", false);
    dispatch(x.dtype, [&](auto zero) {
      using T = decltype(zero);
      using Sorted = LineSort<T, gives_positions>;
      Sorted(call.inputs[0].as<T>(), call.results[0].as<typename Sorted::Out>(), lines, descending).run(call.workers, memory_);
    });
    return {};
  }
};

class TopK final : public Sorting {
 public:
  Status run(const KernelCall& call) override {
    const TensorType& x = *call.inputs[0].type;
    const std::int64_t k = call.results[0].type->shape.back();
    if (call.results[0].type->elements() == 0) return {};
    dispatch(x.dtype, [&](auto zero) { find<decltype(zero)>(call, x.elements() / x.shape.back(), x.shape.back(), k); });
    return {};
  }

 private:
  template <class T>
  void find(const KernelCall& call, std::int64_t lines, std::int64_t extent, std::int64_t k) {
    using Top = TopOfLine<T>;
    const bool worthwhile = lines * extent * static_cast<std::int64_t>(sizeof(T)) >= Workers::kWorthwhileBytes;
    const std::int64_t pieces = worthwhile ? std::min<std::int64_t>(lines, call.workers.threads()) : 1;
    if (static_cast<std::int64_t>(memory_.pieces.size()) < pieces) memory_.pieces.resize(static_cast<std::size_t>(pieces));
    call.workers.each(pieces, [&](std::int64_t piece) {
      auto* candidates = memory_.pieces[static_cast<std::size_t>(piece)].template get<typename Top::Item>(Top::room(extent, k));
      StopLooks looks;
      for (std::int64_t line = lines * piece / pieces; line < lines * (piece + 1) / pieces; ++line) {
        looks.worked(extent);
        const T* in = call.inputs[0].as<T>() + line * extent;
        const auto* best = Top(in, extent, k, candidates).run();
        each_long(k, [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t i = begin; i < end; ++i) {
            const std::uint32_t position = Top::Kind::position(best[i]);
            call.results[0].as<T>()[line * k + i] = in[position];
            call.results[1].as<std::int32_t>()[line * k + i] = static_cast<std::int32_t>(position);
          }
        });
      }
    });
  }
};

/// Sorts into the result and removes duplicates there.
class Unique final : public Sorting {
 public:
  Status run(const KernelCall& call) override {
    const std::int64_t size = call.inputs[0].type->elements();
    auto* const count = call.results[1].as<std::int32_t>();
    *count = 0;
    if (size == 0) return {};
    Lines line;
    line.extent = size;
    dispatch(call.inputs[0].type->dtype, [&](auto zero) {
      using T = decltype(zero);
      T* values = call.results[0].as<T>();
      LineSort<T, false>(call.inputs[0].as<T>(), values, line, false).run(call.workers, memory_);
      std::int64_t kept = 1;
      each_long(size - 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = 1 + begin; i < 1 + end; ++i) {
          const KeyOf<T> key = key_of(values[i]);
          const bool nan = kHasTwins<T> && key == kNaNKey<T>;  // each is unique
          if (nan || key != key_of(values[kept - 1])) values[kept++] = values[i];
        }
      });
      fill_long(values + kept, size - kept, values[kept - 1]);
      *count = static_cast<std::int32_t>(kept);
    });
    return {};
  }
};

template <class Made>
std::unique_ptr<HostKernel> make(const KernelRequest&) {
  return std::make_unique<Made>();
}
/// For calls without a prepared kernel.
template <class Made>
Status run_once(const KernelCall& call) {
  return Made().run(call);
}
template <class Made>
constexpr KernelRow row() {
  return {run_once<Made>, make<Made>};
}

}  // namespace

constexpr KernelRow rows::sort = row<Sort<false>>();
constexpr KernelRow rows::argsort = row<Sort<true>>();
constexpr KernelRow rows::top_k = row<TopK>();
constexpr KernelRow rows::unique = row<Unique>();

}  // namespace cleave::runtime::host
