// nonzero, roi_align and grid_sample, whose elements are independent and divided among the workers. non_max_suppression, in which each box
// depends on those before it, runs its reference implementation.
#include <algorithm>

#include "executor/host/kernels.h"
#include "executor/host/long_copy.h"
#include "graph/ops/positions.h"
#include "graph/ops/vision_rules.h"
#include "graph/ops/wrapping.h"

namespace cleave::runtime::host {
namespace {

Status nonzero_kernel(const KernelCall& call) {
  const Shape& shape = call.inputs[0].type->shape;
  const std::int64_t elements = call.inputs[0].type->elements(), size = call.results[0].type->shape[1];
  auto* out = call.results[0].as<std::int64_t>();
  std::int64_t count = 0;
  dispatch(call.inputs[0].type->dtype, [&](auto zero) {
    using T = decltype(zero);
    const T* in = call.inputs[0].as<T>();
    StopLooks looks;
    for (std::int64_t i = 0; i < elements; ++i) {
      looks.worked();
      if (ops::load(in[i]) == ops::load(T{})) continue;
      if (count < size) {
        std::int64_t rest = i;
        for (std::size_t axis = shape.size(); axis-- > 1; rest /= shape[axis])
          out[static_cast<std::int64_t>(axis) * size + count] = rest % shape[axis];
        out[count] = rest;
      }
      ++count;
    }
  });
  for (std::int64_t axis = 0; axis < call.results[0].type->shape[0]; ++axis)
    fill_long(out + axis * size + std::min(count, size), size - std::min(count, size), std::int64_t{0});
  *call.results[1].as<std::int32_t>() = static_cast<std::int32_t>(count);
  return {};
}

template <class T>
struct Plane {
  const T* data;
  long long rows, columns;
  [[nodiscard]] ops::Compute<T> at(long long row, long long column) const { return ops::load(data[row * columns + column]); }
};

/// Calls `run` with a floating-point zero of `dtype`; type rules allow no others.
template <class Run>
void with_floating(DType dtype, const Run& run) {
  dispatch(dtype, [&](auto zero) {
    if constexpr (!std::is_integral_v<decltype(zero)>) run(zero);
  });
}

constexpr std::int64_t kGrain = 4096;  ///< elements or planes of one piece of the work

template <class T, class Index>
void align_regions(const KernelCall& call) {
  using C = ops::Compute<T>;
  const sampling::Bins bins = ops::bins_of(call.attributes);
  const Shape& shape = call.inputs[0].type->shape;
  const std::int64_t plane = shape[2] * shape[3], each = bins.rows * bins.columns, planes = call.inputs[1].type->shape[0] * shape[1];
  call.workers.each_part(planes, std::max<std::int64_t>(1, kGrain / each), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t p = begin; p < end; ++p) {
      const std::int64_t n = p / shape[1], image = ops::place_of(ops::to_position(call.inputs[2].as<Index>()[n]), shape[0]);
      const Plane<T> from{call.inputs[0].as<T>() + (image * shape[1] + p % shape[1]) * plane, shape[2], shape[3]};
      C region[4];
      for (std::int64_t k = 0; k < 4; ++k) region[k] = ops::load(call.inputs[1].as<T>()[n * 4 + k]);
      T* out = call.results[0].as<T>() + p * each;
      for (std::int64_t row = 0; row < bins.rows; ++row) {
        if (row > 0) look_at_stop();
        for (std::int64_t column = 0; column < bins.columns; ++column)
          *out++ = ops::store<T>(sampling::roi_align(from, region, row, column, bins, look_at_stop));
      }
    }
  });
}

Status roi_align_kernel(const KernelCall& call) {
  const TensorType& images = *call.inputs[2].type;
  const std::int64_t count = call.inputs[0].type->shape[0];
  return dispatch(images.dtype, [&](auto zero) -> Status {
    using Index = decltype(zero);
    if constexpr (std::is_integral_v<Index>) {
      for (std::int64_t n = 0; n < images.elements(); ++n) {
        const std::int64_t image = ops::to_position(call.inputs[2].as<Index>()[n]);
        if (ops::place_of(image, count) < 0) return Error{ops::no_such_place("roi_align", std::to_string(image), {count})};
      }
      if (call.results[0].type->elements() > 0)
        with_floating(call.results[0].type->dtype, [&](auto element) { align_regions<decltype(element), Index>(call); });
    }
    return {};
  });
}

Status grid_sample_kernel(const KernelCall& call) {
  if (call.results[0].type->elements() == 0) return {};
  const ops::GridSampling how = ops::grid_sampling_of(call.attributes);
  const Shape &shape = call.inputs[0].type->shape, &grid = call.inputs[1].type->shape;
  const std::int64_t plane = shape[2] * shape[3], places = grid[1] * grid[2];
  with_floating(call.results[0].type->dtype, [&](auto zero) {
    using T = decltype(zero);
    call.workers.each_part(call.results[0].type->elements(), kGrain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t line = i / places;
        const Plane<T> from{call.inputs[0].as<T>() + line * plane, shape[2], shape[3]};
        const T* at = call.inputs[1].as<T>() + (line / shape[1] * places + i % places) * 2;
        call.results[0].as<T>()[i] =
            ops::store<T>(sampling::grid_sample(from, ops::load(at[0]), ops::load(at[1]), how.mode, how.padding, how.align));
      }
    });
  });
  return {};
}

}  // namespace

constexpr KernelRow rows::nonzero{nonzero_kernel};
constexpr KernelRow rows::non_max_suppression = kReferenceOnly;
constexpr KernelRow rows::roi_align{roi_align_kernel};
constexpr KernelRow rows::grid_sample{grid_sample_kernel};

}  // namespace cleave::runtime::host
