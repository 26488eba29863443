// concat, stack, pad, repeat and tile: strided copies; concat and stack make one copy for each operand.
#include <algorithm>
#include <cstring>

#include "executor/host/long_copy.h"
#include "executor/host/movement.h"
#include "graph/ops/convert.h"

namespace cleave::runtime::host {
namespace {

using Integers = std::vector<std::int64_t>;

/// An array as `before` runs of `behind` elements: the axes before `axis`, and the axes from `axis` on.
struct Runs {
  std::int64_t before = 1, behind = 1;

  Runs(const Shape& shape, std::int64_t axis) {
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(shape.size()); ++i)
      (i < axis ? before : behind) *= shape[static_cast<std::size_t>(i)];
  }
};

/// Each run of the result is the concatenation of the operands' runs. Operands of stack lack the axis, and their runs begin at its
/// position.
Status join_kernel(const KernelCall& call) {
  const TensorType& result = *call.results[0].type;
  std::int64_t axis = call.attributes.get_or<std::int64_t>("axis", 0);
  if (axis < 0) axis += result.rank();
  const Runs whole(result.shape, axis);
  Movement movement;
  for (const TensorView& input : call.inputs) {
    const Runs own(input.type->shape, axis);
    movement.copy = {};
    movement.copy.add(own.before, own.behind, whole.behind);
    movement.copy.add(own.behind, 1, 1);
    movement.run(input, call.results[0], call.workers);
    movement.to += own.behind;
  }
  return {};
}

// --- pad ---------------------------------------------------------------------------------------------------------------------------------

/// Fills the result row by row: a row of the operand between margins, or a row of margin alone.
template <class T>
void pad_rows(const KernelCall& call, const Integers& widths, std::int64_t begin, std::int64_t end) {
  const Shape &shape = call.inputs[0].type->shape, &wide = call.results[0].type->shape;
  const std::size_t last = shape.size() - 1;
  const auto before = [&](std::size_t axis) { return widths.size() == 1 ? widths[0] : widths[2 * axis]; };
  const auto value = ops::convert<T>(call.attributes.get_or("value", 0.0));
  const std::int64_t length = shape[last], margin = before(last);
  T* out = call.results[0].as<T>() + begin * wide[last];
  for (std::int64_t row = begin; row < end; ++row, out += wide[last]) {
    std::int64_t rest = row, source = 0, stride = 1;
    bool inside = length > 0;
    for (std::size_t axis = last; axis-- > 0 && inside;) {
      const std::int64_t index = rest % wide[axis] - before(axis);
      rest /= wide[axis];
      inside = index >= 0 && index < shape[axis];
      source += index * stride;
      stride *= shape[axis];
    }
    if (!inside) {
      fill_long(out, wide[last], value);
      continue;
    }
    fill_long(out, margin, value);
    copy_long(out + margin, call.inputs[0].as<T>() + source * length, length * static_cast<std::int64_t>(sizeof(T)));
    fill_long(out + margin + length, wide[last] - margin - length, value);
  }
}

Status pad_kernel(const KernelCall& call) {
  const TensorType& result = *call.results[0].type;
  if (result.elements() == 0) return {};
  if (result.rank() == 0) return copy_kernel(call);
  const auto& widths = call.attributes.get<Integers>("widths");
  const std::int64_t row = result.shape.back() * size_of(result.dtype);
  dispatch(result.dtype, [&](auto zero) {
    using T = decltype(zero);
    call.workers.each_part(result.elements() / result.shape.back(), std::max<std::int64_t>(1, (256 << 10) / row),
                           [&](std::int64_t begin, std::int64_t end) { pad_rows<T>(call, widths, begin, end); });
  });
  return {};
}

// --- repeat, tile ------------------------------------------------------------------------------------------------------------------------

Movement repeat_plan(const TensorType& x, const TensorType&, const Attributes& attributes) {
  std::int64_t axis = attributes.get_or<std::int64_t>("axis", 0);
  if (axis < 0) axis += x.rank();
  const Runs runs(x.shape, axis + 1);
  const auto times = attributes.get<std::int64_t>("repeats");
  Movement movement;
  movement.copy.add(runs.before, runs.behind, times * runs.behind);
  movement.copy.add(times, 0, runs.behind);
  movement.copy.add(runs.behind, 1, 1);
  return movement;
}

Movement tile_plan(const TensorType& x, const TensorType& result, const Attributes&) {
  Movement movement;
  const Shape& wide = result.shape;
  const std::size_t lead = wide.size() - x.shape.size();
  if (result.elements() == 0) {
    movement.copy.add(0, 0, 0);
    return movement;
  }
  const auto own = row_major_strides(x.shape), strides = row_major_strides(wide);
  for (std::size_t axis = 0; axis < wide.size(); ++axis) {
    const std::int64_t extent = axis < lead ? 1 : x.shape[axis - lead];
    movement.copy.add(wide[axis] / extent, 0, extent * strides[axis]);
    movement.copy.add(extent, axis < lead ? 0 : own[axis - lead], strides[axis]);
  }
  return movement;
}

}  // namespace

constexpr KernelRow rows::concat{join_kernel};
constexpr KernelRow rows::stack{join_kernel};
constexpr KernelRow rows::pad{pad_kernel};
constexpr KernelRow rows::repeat = movement<repeat_plan>();
constexpr KernelRow rows::tile = movement<tile_plan>();

}  // namespace cleave::runtime::host
