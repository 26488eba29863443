// var and std: composite functions of means and squares.
#include "graph/ops/statistics.h"

#include <limits>

#include "graph/ops/calls.h"
#include "graph/ops/op_table.h"
#include "graph/ops/rules.h"
#include "graph/ops/widened.h"
#include "graph/trace/composer.h"

namespace cleave {
namespace ops {
namespace {

constexpr Name kVar{"var"}, kStd{"std"};

template <Name name>
TypeResult spread_type(Types inputs, const Attributes& attributes) {
  const TensorType& x = inputs[0];
  const auto marked = find_axes(name.view(), inputs, attributes, x.rank());
  if (const auto* refused = std::get_if<TypeError>(&marked)) return *refused;
  return give(name.view(), inputs, {x.dtype, reduced_shape(x.shape, std::get<0>(marked), attributes.get<bool>("keepdims"))});
}

std::vector<Part> expand_var(Composer& c, const std::vector<Part>& inputs, const Attributes& attributes) {
  const DType dtype = inputs[0].dtype();
  const Part x = c.as(widened(dtype), inputs[0]);
  const Shape shape = x.shape();
  const AxisMarks marked = marked_axes(attributes, x.rank());
  double count = 1;
  for (int axis = 0; axis < x.rank(); ++axis) {
    if (marked[static_cast<std::size_t>(axis)]) count *= static_cast<double>(shape[static_cast<std::size_t>(axis)]);
  }
  Attributes over = attributes;
  over.erase("correction");
  Attributes kept = over;
  kept.set("keepdims", true);
  const Part square = c(op::square, {c.subtract(x, c(op::mean, {x}, kept))});
  const double correction = attributes.get<double>("correction");
  if (correction == 0) return {c.as(dtype, c(op::mean, {square}, over))};
  const double freedom = count - correction;
  // Too few elements give NaN, as 0 / 0 does, instead of a quotient by a negative number.
  if (freedom <= 0) return {c.as(dtype, c.multiply(c(op::sum, {square}, over), std::numeric_limits<double>::quiet_NaN()))};
  return {c.as(dtype, c.multiply(c(op::mean, {square}, over), count / freedom))};
}

std::vector<Part> expand_std(Composer& c, const std::vector<Part>& inputs, const Attributes& attributes) {
  const DType dtype = inputs[0].dtype();
  return {c.as(dtype, c(op::sqrt, {c(op::var, {c.as(widened(dtype), inputs[0])}, attributes)}))};
}

}  // namespace

namespace {

constexpr AttributeDefs kSpreadAttributes{kAxesOrAll, with_default("correction", AttributeDef::Type::number, 0.0), kKeepdims};

}  // namespace

constexpr OpDef op::var =
    Record("var(x, axis?, correction?, keepdims?)", 1, kSpreadAttributes,
           "mean square distance from the mean over the axes (absent: all); divided by `n - correction`", spread_type<kVar>, expand_var)
        .promoting(Promotion::floating);

constexpr OpDef op::std =
    Record("std(x, axis?, correction?, keepdims?)", 1, kSpreadAttributes, "square root of `var`", spread_type<kStd>, expand_std)
        .promoting(Promotion::floating);

namespace {

Attributes attributes_of(const VarianceOptions& options) {
  Attributes attributes = axis(options.axis);
  attributes.set("correction", options.correction);
  attributes.set("keepdims", options.keepdims);
  return attributes;
}

}  // namespace
}  // namespace ops

Tensor var(const Tensor& x, const VarianceOptions& options, Here here) {
  return detail::call(op::var, {x}, ops::attributes_of(options), here.of("var"));
}

Tensor stddev(const Tensor& x, const VarianceOptions& options, Here here) {
  return detail::call(op::std, {x}, ops::attributes_of(options), here.of("stddev"));
}

}  // namespace cleave
