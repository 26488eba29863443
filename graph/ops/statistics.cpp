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
  const Part square = c("square", {c.subtract(x, c("mean", {x}, kept))});
  const double correction = attributes.get<double>("correction");
  if (correction == 0) return {c.as(dtype, c("mean", {square}, over))};
  const double freedom = count - correction;
  // Too few elements give NaN, as 0 / 0 does, instead of a quotient by a negative number.
  if (freedom <= 0) return {c.as(dtype, c.multiply(c("sum", {square}, over), std::numeric_limits<double>::quiet_NaN()))};
  return {c.as(dtype, c.multiply(c("mean", {square}, over), count / freedom))};
}

std::vector<Part> expand_std(Composer& c, const std::vector<Part>& inputs, const Attributes& attributes) {
  const DType dtype = inputs[0].dtype();
  return {c.as(dtype, c("sqrt", {c("var", {c.as(widened(dtype), inputs[0])}, attributes)}))};
}

}  // namespace

std::span<const OpDef> statistics_functions() {
  static const std::vector<OpDef> functions = [] {
    const std::vector<AttributeDef> attributes = {optional("axis", AttributeDef::Type::integers),
                                                  with_default("correction", AttributeDef::Type::number, 0.0),
                                                  with_default("keepdims", AttributeDef::Type::boolean, false)};
    std::vector<OpDef> all = {
        composite_record("var(x, axis?, correction?, keepdims?)", 1, attributes,
                         "mean square distance from the mean over the axes (absent: all); divided by `n - correction`", spread_type<kVar>,
                         expand_var),
        composite_record("std(x, axis?, correction?, keepdims?)", 1, attributes, "square root of `var`", spread_type<kStd>, expand_std),
    };
    for (OpDef& function : all) function.promotion = Promotion::floating;
    return all;
  }();
  return functions;
}

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
  return detail::call("var", {x}, ops::attributes_of(options), here.of("var"));
}

Tensor stddev(const Tensor& x, const VarianceOptions& options, Here here) {
  return detail::call("std", {x}, ops::attributes_of(options), here.of("stddev"));
}

}  // namespace cleave
