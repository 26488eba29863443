// slice, take and one_hot: selection of elements by position.
#include <algorithm>
#include <cstring>

#include "graph/base/stop.h"
#include "graph/ops/forms.h"
#include "graph/ops/gradient_rules.h"
#include "graph/ops/length_rules.h"
#include "graph/ops/op_table.h"
#include "graph/ops/positions.h"
#include "graph/ops/rules.h"
#include "graph/ops/views.h"
#include "graph/ops/wrapping.h"

namespace cleave::ops {
namespace {

using Type = AttributeDef::Type;

// --- slice -------------------------------------------------------------------------------------------------------------------------------

/// Python's rules (slice.indices): negative positions count from the end, and positions out of range are clamped.
SlicedAxis python_range(std::int64_t start, std::int64_t stop, std::int64_t step, std::int64_t extent) {
  const std::int64_t lowest = step > 0 ? 0 : -1;
  const std::int64_t highest = step > 0 ? extent : extent - 1;
  const auto position = [&](std::int64_t at) { return std::clamp(at < 0 ? at + extent : at, lowest, highest); };
  start = position(start);
  stop = position(stop);
  const std::int64_t distance = step > 0 ? stop - start : start - stop;
  const std::uint64_t stride = step > 0 ? static_cast<std::uint64_t>(step) : -static_cast<std::uint64_t>(step);
  if (distance <= 0) return {0, 1, 0};
  const auto count = static_cast<std::int64_t>((static_cast<std::uint64_t>(distance) - 1) / stride + 1);
  return {start, count == 1 ? 1 : step, count};  // the step of one element is irrelevant; 1 avoids overflow in products of strides
}

struct Slice {
  std::vector<SlicedAxis> ranges;  ///< one for each axis
  AxisMarks squeezed;
};

std::variant<Slice, TypeError> slice_of(Types inputs, const Attributes& attributes) {
  const TensorType& x = inputs[0];
  const Integers none;
  const auto list = [&](std::string_view name) -> const Integers& {
    const auto* values = attributes.get_if<Integers>(name);
    return values ? *values : none;
  };
  const Integers &starts = list("starts"), &stops = list("stops"), &steps = list("steps");
  if (starts.size() != stops.size() || (!steps.empty() && steps.size() != starts.size())) {
    return refuse(DiagnosticKind::value, "slice", inputs, "`starts`, `stops` and `steps` must be of one length");
  }
  if (static_cast<int>(starts.size()) > x.rank()) {
    return refuse(DiagnosticKind::shape, "slice", inputs,
                  std::to_string(starts.size()) + " indices for " + std::to_string(x.rank()) + " axes");
  }
  auto squeezed = find_axes("slice", inputs, {{"axis", list("squeeze")}}, x.rank());
  if (auto* error = std::get_if<TypeError>(&squeezed)) return std::move(*error);
  Slice slice{{}, std::get<0>(squeezed)};
  for (int axis = 0; axis < x.rank(); ++axis) {
    const std::int64_t extent = x.shape[axis];
    const auto k = static_cast<std::size_t>(axis);
    const std::int64_t step = k < steps.size() ? steps[k] : 1;
    if (step == 0) return refuse(DiagnosticKind::value, "slice", inputs, "a step of 0");
    if (!slice.squeezed[k]) {
      slice.ranges.push_back(k < starts.size() ? python_range(starts[k], stops[k], step, extent) : SlicedAxis{0, 1, extent});
      continue;
    }
    const std::int64_t index = k < starts.size() ? starts[k] : 0;
    if (index < -extent || index >= extent) {
      return refuse(DiagnosticKind::shape, "slice", inputs,
                    "index " + std::to_string(index) + " is outside axis " + std::to_string(axis) + " of extent " + std::to_string(extent));
    }
    slice.ranges.push_back({index < 0 ? index + extent : index, 1, 1});
  }
  return slice;
}

TypeResult slice_type(Types inputs, const Attributes& attributes) {
  auto found = slice_of(inputs, attributes);
  if (auto* error = std::get_if<TypeError>(&found)) return std::move(*error);
  const Slice& slice = std::get<Slice>(found);
  TensorType result{inputs[0].dtype, {}};
  for (std::size_t axis = 0; axis < slice.ranges.size(); ++axis) {
    if (!slice.squeezed[axis]) result.shape.push_back(slice.ranges[axis].count);
  }
  return give("slice", inputs, std::move(result));
}

Status slice_reference(const OpCall& call) {
  copy(call.inputs[0], slice_view(call.inputs[0].type(), call.attributes), call.results[0]);
  return {};
}

// --- take --------------------------------------------------------------------------------------------------------------------------------

TypeResult take_type(Types inputs, const Attributes& attributes) {
  const TensorType &x = inputs[0], &indices = inputs[1];
  if (!is_integer(indices.dtype)) return refuse(DiagnosticKind::type, "take", inputs, "the indices must be integers");
  const auto* axis = attributes.get_if<std::int64_t>("axis");
  if (!axis && x.rank() != 1) return refuse(DiagnosticKind::value, "take", inputs, "needs an axis unless x has exactly one");
  const auto along = find_axis(axis ? *axis : 0, x.rank());
  if (!along) return no_axis("take", inputs, *axis, x.rank());
  TensorType result{x.dtype, Shape(x.shape.begin(), x.shape.begin() + *along)};
  result.shape.insert(result.shape.end(), indices.shape.begin(), indices.shape.end());
  result.shape.insert(result.shape.end(), x.shape.begin() + *along + 1, x.shape.end());
  return give("take", inputs, std::move(result));
}

Cost take_cost(Types inputs, Types results, const Attributes&) {
  // Only the selected elements of x are read.
  return {0, 2 * static_cast<double>(results[0].bytes()) + static_cast<double>(inputs[1].bytes())};
}

constexpr std::int64_t kLongCopy = 1 << 22;  ///< bytes copied between two polls of the stop sign

Status take_reference(const OpCall& call) {
  const Array &x = call.inputs[0], &indices = call.inputs[1];
  const int along = *find_axis(call.attributes.get_or<std::int64_t>("axis", 0), x.type().rank());
  const std::int64_t extent = x.shape()[along];
  std::int64_t before = 1, run = size_of(x.dtype());
  for (int axis = 0; axis < along; ++axis) before *= x.shape()[axis];
  for (int axis = along + 1; axis < x.type().rank(); ++axis) run *= x.shape()[axis];
  std::vector<std::int64_t> positions;
  dispatch(indices.dtype(), [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_integral_v<T>) {
      StopLooks looks;
      for (const T index : indices.values<T>()) {
        looks.worked(4);
        positions.push_back(to_position(index));
      }
    }
  });
  StopLooks looks;
  for (std::int64_t& index : positions) {
    looks.worked();
    const std::int64_t place = place_of(index, extent);
    if (place < 0) return Error{"`take`: the index " + std::to_string(index) + " is outside the axis of extent " + std::to_string(extent)};
    index = place;
  }
  std::byte* out = call.results[0].mutable_bytes();
  for (std::int64_t i = 0; i < before; ++i) {
    for (const std::int64_t index : positions) {
      for (std::int64_t begin = 0; begin < run; begin += kLongCopy) {
        const std::int64_t bytes = std::min(run - begin, kLongCopy);
        looks.worked(1 + bytes / 16);
        std::memcpy(out + begin, x.bytes() + (i * extent + index) * run + begin, static_cast<std::size_t>(bytes));
      }
      out += run;
    }
  }
  return {};
}

// --- one_hot -----------------------------------------------------------------------------------------------------------------------------

TypeResult one_hot_type(Types inputs, const Attributes& attributes) {
  if (!is_integer(inputs[0].dtype)) return refuse(DiagnosticKind::type, "one_hot", inputs, "the indices must be integers");
  const auto depth = attributes.get<std::int64_t>("depth");
  if (depth < 0) return refuse(DiagnosticKind::value, "one_hot", inputs, "`depth` must not be negative");
  TensorType result{attributes.get_or("dtype", DType::f32), inputs[0].shape};
  result.shape.push_back(depth);
  return give("one_hot", inputs, std::move(result));
}

Status one_hot_reference(const OpCall& call) {
  const Array& x = call.inputs[0];
  const std::int64_t depth = call.results[0].shape().back();
  dispatch(x.dtype(), [&](auto index_zero) {
    dispatch(call.results[0].dtype(), [&](auto zero) {
      using Index = decltype(index_zero);
      using T = decltype(zero);
      if constexpr (std::is_integral_v<Index>) {
        const Index* indices = x.data<Index>();
        T* out = call.results[0].mutable_data<T>();
        StopLooks looks;
        for (std::int64_t i = 0; i < x.size(); ++i) {
          const auto index = static_cast<std::int64_t>(indices[i]);
          for (std::int64_t k = 0; k < depth; ++k) {
            looks.worked();
            out[i * depth + k] = store<T>(k == index);
          }
        }
      }
    });
  });
  return {};
}

}  // namespace

std::vector<SlicedAxis> sliced_axes(const TensorType& x, const Attributes& attributes) {
  auto found = slice_of({&x, 1}, attributes);
  CLEAVE_CHECK(found.index() == 0, "the type rule was not asked");
  return std::get<Slice>(std::move(found)).ranges;
}

View slice_view(const TensorType& x, const Attributes& attributes) {
  const auto found = slice_of(std::span(&x, 1), attributes);
  const Slice& slice = std::get<Slice>(found);
  const Strides own = row_major_strides(x.shape);
  View view;
  for (std::size_t axis = 0; axis < own.size(); ++axis) {
    view.offset += slice.ranges[axis].start * own[axis];
    if (!slice.squeezed[axis]) view.strides.push_back(slice.ranges[axis].step * own[axis]);
  }
  return view;
}

namespace {

/// Runs that are contiguous in the operand and in the result.
WorkForm slice_form(Types inputs, Types results, const Attributes& attributes) {
  const auto found = slice_of(inputs, attributes);
  const Slice& slice = std::get<Slice>(found);
  double run = 1;
  for (std::size_t axis = slice.ranges.size(); axis-- > 0;) {
    const SlicedAxis& range = slice.ranges[axis];
    if (range.count != 1 && range.step != 1) break;
    run *= static_cast<double>(range.count);
    if (range.count != inputs[0].shape[axis]) break;
  }
  return run_form(run, static_cast<double>(results[0].elements()));
}

/// Runs of the elements that one index selects. Beyond kLongRun elements, their length no longer matters.
WorkForm take_form(Types inputs, Types results, const Attributes& attributes) {
  constexpr double kLongRun = 64;
  const auto along = static_cast<std::size_t>(*find_axis(attributes.get_or<std::int64_t>("axis", 0), inputs[0].rank()));
  double run = 1;
  for (std::size_t axis = along + 1; axis < inputs[0].shape.size(); ++axis) run *= static_cast<double>(inputs[0].shape[axis]);
  return run_form(run, std::min(kLongRun, static_cast<double>(results[0].elements())));
}

}  // namespace

constexpr OpDef op::slice{
    .name = "slice",
    .min_inputs = 1,
    .max_inputs = 1,
    .attributes = {required("starts", Type::integers), required("stops", Type::integers),
                   with_default("steps", Type::integers, NoIntegers{}), with_default("squeeze", Type::integers, NoIntegers{})},
    .signature = "slice(x, starts, stops, steps?, squeeze?)",
    .summary = "`x[start:stop:step, …]` by Python's rules, further axes whole; an axis in `squeeze` is indexed by its start and dropped",
    .type_rule = slice_type,
    .length_rule = lengths::slice,
    .cost = [](Types, Types results, const Attributes&) -> Cost {
      return {0, 2 * static_cast<double>(results[0].bytes())};
    },
    .cost_class = CostClass::movement,
    .form = slice_form,
    .reference = slice_reference,
    .gradient = gradients::slice};

constexpr OpDef op::take{.name = "take",
                         .min_inputs = 2,
                         .max_inputs = 2,
                         .attributes = {optional("axis", Type::integer)},
                         .signature = "take(x, indices, axis?)",
                         .summary = "elements of an axis by index, negative ones from the end; the axis gives way to those of the indices",
                         .type_rule = take_type,
                         .length_rule = lengths::take,
                         .cost = take_cost,
                         .may_fail = true,
                         .cost_class = CostClass::gather,
                         .form = take_form,
                         .reference = take_reference,
                         .gradient = gradients::take};

constexpr OpDef op::one_hot{.name = "one_hot",
                            .min_inputs = 1,
                            .max_inputs = 1,
                            .attributes = {required("depth", Type::integer), with_default("dtype", Type::dtype, DType::f32)},
                            .signature = "one_hot(x, depth, dtype?)",
                            .summary = "a last axis of extent `depth` with 1 at index x; all 0 if x is outside",
                            .also_called = "OneHot, to_categorical",
                            .type_rule = one_hot_type,
                            .length_rule = lengths::one_hot,
                            .cost = copy_cost,
                            .cost_class = CostClass::gather,
                            .reference = one_hot_reference,
                            .gradient = GradientRule::zero()};

}  // namespace cleave::ops
