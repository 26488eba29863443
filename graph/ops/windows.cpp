// dynamic_slice and dynamic_update_slice: windows of an array at computed positions. A window that is not within the array is a run-time
// error. XLA would clamp its start and silently use another position.
#include "graph/ops/gradient_rules.h"
#include "graph/ops/op_table.h"
#include "graph/ops/positions.h"
#include "graph/ops/rules.h"
#include "graph/ops/strided.h"
#include "graph/ops/wrapping.h"

namespace cleave::ops {
namespace {

using Type = AttributeDef::Type;

/// Refuses starts that are not one integer scalar for each axis of x, or one vector of them, and windows larger than x.
std::optional<TypeError> wrong_window(std::string_view op, Types inputs, Types starts, const Shape& window) {
  const TensorType& x = inputs[0];
  const auto rank = static_cast<std::size_t>(x.rank());
  for (const TensorType& start : starts) {
    if (!is_integer(start.dtype)) return refuse(DiagnosticKind::type, op, inputs, "the starts must be integers");
  }
  const bool vector = starts.size() == 1 && starts[0].shape == Shape{x.rank()};
  const bool scalars = starts.size() == rank && std::all_of(starts.begin(), starts.end(), [](const TensorType& t) { return t.scalar(); });
  if (!vector && !scalars) {
    return refuse(
        DiagnosticKind::shape, op, inputs,
        "takes " + std::to_string(rank) + (rank == 1 ? " start" : " starts") + ", one an axis of x: scalars, or one vector of them");
  }
  for (std::size_t axis = 0; axis < rank; ++axis) {
    if (window[axis] >= 0 && window[axis] <= x.shape[axis]) continue;
    return refuse(DiagnosticKind::shape, op, inputs, "a window of " + to_string(window) + " does not fit into " + to_string(x.shape));
  }
  return std::nullopt;
}

TypeResult windows_type(Types inputs, const Attributes& attributes) {
  const auto& sizes = attributes.get<Integers>("sizes");
  if (sizes.size() != inputs[0].shape.size()) {
    return refuse(DiagnosticKind::value, "dynamic_slice", inputs, "`sizes` takes one number for each axis of x");
  }
  const Shape window(sizes.begin(), sizes.end());
  if (auto error = wrong_window("dynamic_slice", inputs, inputs.subspan(1), window)) return *std::move(error);
  return give("dynamic_slice", inputs, {inputs[0].dtype, window});
}

TypeResult update_type(Types inputs, const Attributes&) {
  const TensorType &x = inputs[0], &update = inputs[1];
  if (update.dtype != x.dtype) return refuse(DiagnosticKind::type, "dynamic_update_slice", inputs, "the element types differ");
  if (update.rank() > x.rank()) {
    return refuse(DiagnosticKind::shape, "dynamic_update_slice", inputs, "the update has more axes than what it goes into");
  }
  if (auto error = wrong_window("dynamic_update_slice", inputs, inputs.subspan(2), window_shape(x.shape, update.shape)))
    return *std::move(error);
  return give("dynamic_update_slice", inputs, x);
}

/// The start of the window along each axis, or an Error if the window is not within x.
Result<Integers> places_of(std::string_view op, const Shape& shape, std::span<const Array> starts, const Shape& window) {
  Integers places;
  std::optional<Error> error;
  for (const Array& start : starts) {
    dispatch(start.dtype(), [&](auto zero) {
      using Index = decltype(zero);
      if constexpr (std::is_integral_v<Index>) {
        for (const Index index : start.values<Index>()) {
          const std::size_t axis = places.size();
          places.push_back(place_of(to_position(index), shape[axis], window[axis]));
          if (places.back() < 0 && !error) error = Error{no_such_window(op, std::to_string(to_position(index)), shape, window)};
        }
      }
    });
  }
  if (error) return *std::move(error);
  return places;
}

View window_view(const Shape& shape, const Integers& places) {
  View view{0, row_major_strides(shape)};
  for (std::size_t axis = 0; axis < places.size(); ++axis) view.offset += places[axis] * view.strides[axis];
  return view;
}

Status windows_reference(const OpCall& call) {
  const Array& x = call.inputs[0];
  const Shape& window = call.results[0].shape();
  const Result<Integers> places = places_of("dynamic_slice", x.shape(), call.inputs.subspan(1), window);
  if (!places) return places.error();
  copy(x, window_view(x.shape(), *places), call.results[0]);
  return {};
}

Status update_reference(const OpCall& call) {
  const Array &x = call.inputs[0], &update = call.inputs[1];
  const Shape window = window_shape(x.shape(), update.shape());
  const Result<Integers> places = places_of("dynamic_update_slice", x.shape(), call.inputs.subspan(2), window);
  if (!places) return places.error();
  copy(x, {0, row_major_strides(x.shape())}, call.results[0]);
  copy(window, update, {0, row_major_strides(window)}, call.results[0], window_view(x.shape(), *places));
  return {};
}

/// The moved bytes. An update costs no more, since it is done in place if x is not read again.
Cost window_cost(Types, const TensorType& window, Types starts) {
  double bytes = 2 * static_cast<double>(window.bytes());
  for (const TensorType& start : starts) bytes += static_cast<double>(start.bytes());
  return {0, bytes};
}

}  // namespace

constexpr OpDef op::dynamic_slice{
    .name = "dynamic_slice",
    .min_inputs = 1,
    .max_inputs = -1,
    .attributes = {required("sizes", Type::integers)},
    .signature = "dynamic_slice(x, [starts], sizes)",
    .summary = "a window of x of extents `sizes` that begins at `starts`: a scalar an axis, or one vector; it must lie within x",
    .type_rule = windows_type,
    .cost = [](Types inputs, Types results, const Attributes&) { return window_cost(inputs, results[0], inputs.subspan(1)); },
    .may_fail = true,
    .cost_class = CostClass::gather,
    .reference = windows_reference,
    .gradient = gradients::dynamic_slice};

constexpr OpDef op::dynamic_update_slice{
    .name = "dynamic_update_slice",
    .min_inputs = 2,
    .max_inputs = -1,
    .attributes = {},
    .signature = "dynamic_update_slice(x, update, [starts])",
    .summary = "x with `update` from `starts` on; axes that the update lacks in front are one long; in place where x is not read again",
    .type_rule = update_type,
    .cost = [](Types inputs, Types, const Attributes&) { return window_cost(inputs, inputs[1], inputs.subspan(2)); },
    .may_fail = true,
    .cost_class = CostClass::gather,
    .reference = update_reference,
    .gradient = gradients::dynamic_update_slice};

}  // namespace cleave::ops
