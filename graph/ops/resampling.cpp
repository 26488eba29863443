// resize: a composite function. Axis by axis, each result is a weighted sum of one (nearest), two (linear) or four (cubic) elements whose
// positions and weights follow from the extents. If antialiasing needs more, the sums are a product with the matrix of the weights.
#include <algorithm>
#include <array>
#include <cmath>

#include "graph/ops/op_table.h"
#include "graph/ops/rules.h"
#include "graph/trace/composer.h"

namespace cleave::ops {
namespace {

constexpr Name kName{"resize"};
constexpr std::size_t kMostTaken = 4;  ///< elements for each result; for more, one matrix product is faster than a `take` for each

/// One of the resized axes.
struct ResampledAxis {
  std::int64_t at = 0, in = 1, out = 1;
  double scale = 1, width = 1;  ///< `width`: the length of the result before rounding
  double begin = 0, end = 1;    ///< of the selected region, as fractions of the axis
  [[nodiscard]] bool stays() const { return out == in && scale == 1 && begin == 0 && end == 1; }
};

bool is_one_of(const std::string& word, std::initializer_list<const char*> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::variant<std::vector<ResampledAxis>, TypeError> find_resized(Types inputs, const Attributes& attributes) {
  const TensorType& x = inputs[0];
  const auto wrong = [&](const std::string& reason) { return refuse(DiagnosticKind::value, kName.view(), inputs, reason); };
  const auto* sizes = attributes.get_if<Integers>("sizes");
  const auto* scales = attributes.get_if<std::vector<double>>("scales");
  const auto* region = attributes.get_if<std::vector<double>>("roi");
  if (!sizes && !scales) return wrong("needs `sizes` or `scales`");
  const std::size_t count = sizes ? sizes->size() : scales->size();
  const auto axes = static_cast<std::int64_t>(count);
  const std::string name = sizes ? "`sizes`" : "`scales`";
  if (axes > x.rank()) return wrong(name + " has " + std::to_string(count) + " numbers, x only " + std::to_string(x.rank()) + " axes");
  if (sizes && scales && scales->size() != count) return wrong("`sizes` and `scales` must be of as many axes");
  if (region && region->size() != 2 * count) return wrong("`roi` has a begin for each axis, and then an end for each");
  std::vector<ResampledAxis> all;
  for (std::size_t k = 0; k < count; ++k) {
    ResampledAxis axis{x.rank() - axes + static_cast<std::int64_t>(k)};
    axis.in = x.shape[static_cast<std::size_t>(axis.at)];
    const auto in = static_cast<double>(axis.in);
    if (scales) {
      axis.scale = (*scales)[k];
      axis.width = in * axis.scale;
      if (!(axis.scale > 0) || !(axis.width < 0x1p53)) return wrong("`scales` must be positive, and not too large");
      axis.out = static_cast<std::int64_t>(std::floor(axis.width));
    }
    if (sizes) {
      axis.out = (*sizes)[k];
      if (axis.out < 0) return wrong("`sizes` must not be negative, as " + std::to_string(axis.out) + " is");
      if (!scales) axis.scale = axis.in > 0 ? static_cast<double>(axis.out) / in : 1;
      if (!scales) axis.width = static_cast<double>(axis.out);
    }
    if (region && attributes.get<std::string>("coordinate_transformation_mode") == "tf_crop_and_resize") {
      axis.begin = (*region)[k];
      axis.end = (*region)[count + k];
    }
    if (axis.in == 0 && axis.out > 0) return wrong("an axis without elements cannot become one of " + std::to_string(axis.out));
    all.push_back(axis);
  }
  return all;
}

constexpr std::array<const char*, 7> kCoordinates = {"half_pixel",           "pytorch_half_pixel",   "align_corners",     "asymmetric",
                                                     "half_pixel_symmetric", "tf_half_pixel_for_nn", "tf_crop_and_resize"};

TypeResult resize_type(Types inputs, const Attributes& attributes) {
  const TensorType& x = inputs[0];
  const auto wrong = [&](const std::string& reason) { return refuse(DiagnosticKind::value, kName.view(), inputs, reason); };
  const auto word = [&](const char* name) { return attributes.get<std::string>(name); };
  if (!is_one_of(word("mode"), {"nearest", "linear", "cubic"}))
    return wrong("`mode` must be nearest, linear or cubic, not " + word("mode"));
  if (!is_floating(x.dtype) && word("mode") != "nearest")
    return refuse(DiagnosticKind::type, kName.view(), inputs, "of integers and bool can only be nearest; convert with astype");
  const std::string coordinates = word("coordinate_transformation_mode");
  if (std::find(kCoordinates.begin(), kCoordinates.end(), coordinates) == kCoordinates.end()) {
    std::string names;
    for (const char* each : kCoordinates) names += (names.empty() ? "" : each == kCoordinates.back() ? " or " : ", ") + std::string(each);
    return wrong("`coordinate_transformation_mode` must be " + names + ", not " + coordinates);
  }
  if (coordinates == "tf_crop_and_resize" && !attributes.find("roi")) return wrong("needs `roi`, the region for tf_crop_and_resize");
  if (attributes.get<bool>("antialias") && word("mode") == "nearest") return wrong("`antialias` is for linear and cubic");
  if (!is_one_of(word("nearest_mode"), {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}))
    return wrong("`nearest_mode` must be round_prefer_floor, round_prefer_ceil, floor or ceil, not " + word("nearest_mode"));
  auto axes = find_resized(inputs, attributes);
  if (auto* error = std::get_if<TypeError>(&axes)) return std::move(*error);
  TensorType result = x;
  for (const ResampledAxis& axis : std::get<0>(axes)) result.shape[static_cast<std::size_t>(axis.at)] = axis.out;
  return give(kName.view(), inputs, std::move(result));
}

/// The position in x that corresponds to element `i` of the result.
double source_place(const ResampledAxis& axis, std::int64_t i, const std::string& mode) {
  const auto at = static_cast<double>(i), last = static_cast<double>(axis.in - 1), in = static_cast<double>(axis.in);
  if (mode == "asymmetric") return at / axis.scale;
  if (mode == "align_corners") return axis.width != 1 ? at * last / (axis.width - 1) : 0;
  if (mode == "tf_half_pixel_for_nn") return (at + 0.5) / axis.scale;
  if (mode == "tf_crop_and_resize") {
    const double inside = axis.width != 1 ? at * (axis.end - axis.begin) * last / (axis.width - 1) : (axis.end - axis.begin) * last / 2;
    return axis.begin * last + inside;
  }
  if (mode == "pytorch_half_pixel" && axis.out <= 1) return 0;
  const double moved = mode == "half_pixel_symmetric" ? in / 2 * (1 - static_cast<double>(axis.out) / axis.width) : 0;
  return moved + (at + 0.5) / axis.scale - 0.5;
}

double nearest(double place, const std::string& mode) {
  if (mode == "floor") return std::floor(place);
  if (mode == "ceil") return std::ceil(place);
  return mode == "round_prefer_ceil" ? std::floor(place + 0.5) : std::ceil(place - 0.5);
}

/// The weight of an element at a distance, by Keys' cubic convolution.
double cubic(double distance, double a) {
  const double x = std::abs(distance);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

/// The elements of x, and their weights, for each result along an axis: tap k of result i is `places[k][i]` with `weights[k][i]`.
struct Taps {
  std::vector<Integers> places;
  std::vector<std::vector<double>> weights;
};

Taps taps_of(const ResampledAxis& axis, const Attributes& attributes) {
  const auto& mode = attributes.get<std::string>("mode");
  const bool smooths = attributes.get<bool>("antialias"), inside_only = attributes.get<bool>("exclude_outside");
  const double reach = mode == "cubic" ? 2 : 1, shrink = smooths ? std::min(axis.scale, 1.0) : 1,
               a = attributes.get<double>("cubic_coeff_a");
  const double before = std::floor(-reach / shrink) + 1;  // offset of the first tap
  const std::size_t count = mode == "nearest" ? 1 : static_cast<std::size_t>(2 - 2 * before);
  Taps taps{std::vector<Integers>(count), std::vector<std::vector<double>>(count)};
  for (std::int64_t i = 0; i < axis.out; ++i) {
    const double place = source_place(axis, i, attributes.get<std::string>("coordinate_transformation_mode"));
    const double first = mode == "nearest" ? nearest(place, attributes.get<std::string>("nearest_mode")) : std::floor(place) + before;
    double all = 0, sum = 0;
    for (std::size_t k = 0; k < count; ++k) {
      const double at = first + static_cast<double>(k), inside = std::clamp<double>(at, 0, static_cast<double>(axis.in - 1));
      const double distance = shrink * std::abs(place - at);
      double weight = count == 1 ? 1 : mode == "cubic" ? cubic(distance, a) : std::max(0.0, 1 - distance);
      all += weight;
      if (inside_only && at != inside) weight = 0;
      sum += weight;
      taps.places[k].push_back(static_cast<std::int64_t>(inside));
      taps.weights[k].push_back(weight);
    }
    const double whole = inside_only ? sum : smooths ? all : 1;
    for (std::size_t k = 0; k < count && whole != 0; ++k) taps.weights[k].back() /= whole;
  }
  return taps;
}

/// The number of repetitions if the result repeats each element equally often, in order; else 0.
std::int64_t repeats(const ResampledAxis& axis, const Taps& taps) {
  const std::int64_t times = axis.out / axis.in;
  if (taps.places.size() > 1 || axis.out % axis.in != 0) return 0;
  for (std::int64_t i = 0; i < axis.out; ++i)
    if (taps.places[0][static_cast<std::size_t>(i)] != i / times) return 0;
  return times;
}

Part numbers(Composer& c, DType dtype, Shape shape, const std::vector<double>& values) {
  Array array(TensorType{dtype, std::move(shape)});
  if (dtype == DType::f64) {
    std::copy(values.begin(), values.end(), array.mutable_data<double>());
  } else {
    std::transform(values.begin(), values.end(), array.mutable_data<float>(), [](double value) { return static_cast<float>(value); });
  }
  return c.constant(std::move(array));
}

Part take_along(Composer& c, const Part& x, const ResampledAxis& axis, const Taps& taps) {
  if (const std::int64_t times = repeats(axis, taps); times > 0) return c(op::repeat, {x}, {{"repeats", times}, {"axis", axis.at}});
  Part sum;
  Shape beside(static_cast<std::size_t>(x.rank() - axis.at), 1);
  beside[0] = axis.out;
  for (std::size_t k = 0; k < taps.places.size(); ++k) {
    Array places(TensorType{DType::i64, {axis.out}});
    std::copy(taps.places[k].begin(), taps.places[k].end(), places.mutable_data<std::int64_t>());
    const Part taken = c(op::take, {x, c.constant(std::move(places))}, {{"axis", axis.at}});
    if (taps.places.size() == 1) return taken;
    const Part part = c.multiply(taken, numbers(c, x.dtype(), beside, taps.weights[k]));
    sum = k == 0 ? part : c.add(sum, part);
  }
  return sum;
}

/// The same result as take_along, as a product with the matrix of all weights.
Part product_along(Composer& c, const Part& x, const ResampledAxis& axis, const Taps& taps) {
  Shape shape = x.shape();
  const auto at = static_cast<std::size_t>(axis.at);
  const auto extent = [&](std::size_t from, std::size_t to) {
    std::int64_t product = 1;
    for (std::size_t i = from; i < to; ++i) product *= shape[i];
    return product;
  };
  const std::int64_t before = extent(0, at), behind = extent(at + 1, shape.size());
  const bool last = at + 1 == shape.size();
  std::vector<double> weights(static_cast<std::size_t>(axis.in * axis.out), 0.0);
  for (std::size_t k = 0; k < taps.places.size(); ++k) {
    for (std::int64_t i = 0; i < axis.out; ++i) {
      const std::int64_t place = taps.places[k][static_cast<std::size_t>(i)];
      weights[static_cast<std::size_t>(last ? place * axis.out + i : i * axis.in + place)] += taps.weights[k][static_cast<std::size_t>(i)];
    }
  }
  shape[at] = axis.out;
  if (last) return c.reshape(c(op::matmul, {c.reshape(x, {before, axis.in}), numbers(c, x.dtype(), {axis.in, axis.out}, weights)}), shape);
  return c.reshape(c(op::matmul, {numbers(c, x.dtype(), {axis.out, axis.in}, weights), c.reshape(x, {before, axis.in, behind})}), shape);
}

/// Replaces elements outside of x by `extrapolation_value`, where the region of an axis extends beyond x.
Part with_outside(Composer& c, const Part& x, const ResampledAxis& axis, const Attributes& attributes) {
  Shape beside(static_cast<std::size_t>(x.rank() - axis.at), 1);
  beside[0] = axis.out;
  Array outside(TensorType{DType::boolean, beside});
  bool any = false;
  for (std::int64_t i = 0; i < axis.out; ++i) {
    const double place = source_place(axis, i, "tf_crop_and_resize");
    outside.mutable_data<bool>()[i] = place < 0 || place > static_cast<double>(axis.in - 1);
    any = any || outside.data<bool>()[i];
  }
  if (!any) return x;
  const auto number = attributes.get<double>("extrapolation_value");
  const AttributeValue of_type = is_floating(x.dtype()) ? AttributeValue(number) : AttributeValue(static_cast<std::int64_t>(number));
  const Part value = c(op::full, {}, {{"shape", Shape{}}, {"value", of_type}, {"dtype", x.dtype()}});
  return c(op::where, {c.constant(std::move(outside)), value, x});
}

Parts expand_resize(Composer& c, const Parts& inputs, const Attributes& attributes) {
  const TensorType given = inputs[0].type();
  auto axes = std::get<0>(find_resized(std::span(&given, 1), attributes));
  TensorType result = given;
  for (const ResampledAxis& axis : axes) result.shape[static_cast<std::size_t>(axis.at)] = axis.out;
  if (result.elements() == 0) return {c(op::zeros, {}, {{"shape", result.shape}, {"dtype", given.dtype}})};
  // Axes that shrink come first, so that no intermediate result is larger than both x and the result.
  std::stable_partition(axes.begin(), axes.end(), [](const ResampledAxis& axis) { return axis.out < axis.in; });
  const bool narrow = given.dtype == DType::f16 || given.dtype == DType::bf16;
  const bool widens = narrow && attributes.get<std::string>("mode") != "nearest";
  Part x = widens ? c(op::astype, {inputs[0]}, {{"dtype", DType::f32}}) : inputs[0];
  for (const ResampledAxis& axis : axes) {
    if (axis.stays()) continue;
    const Taps taps = taps_of(axis, attributes);
    x = taps.places.size() > kMostTaken ? product_along(c, x, axis, taps) : take_along(c, x, axis, taps);
    if (attributes.get<std::string>("coordinate_transformation_mode") == "tf_crop_and_resize") x = with_outside(c, x, axis, attributes);
  }
  return {widens ? c(op::astype, {x}, {{"dtype", given.dtype}}) : x};
}

}  // namespace

constexpr OpDef op::resize =
    Record(
        "resize(x, sizes?, scales?, mode?, coordinate_transformation_mode?, nearest_mode?, cubic_coeff_a?, exclude_outside?, antialias?, "
        "roi?, extrapolation_value?)",
        1,
        {optional("sizes", AttributeDef::Type::integers), optional("scales", AttributeDef::Type::numbers),
         with_default("mode", AttributeDef::Type::text, "nearest"),
         with_default("coordinate_transformation_mode", AttributeDef::Type::text, "half_pixel"),
         with_default("nearest_mode", AttributeDef::Type::text, "round_prefer_floor"),
         with_default("cubic_coeff_a", AttributeDef::Type::number, -0.75),
         with_default("exclude_outside", AttributeDef::Type::boolean, false), with_default("antialias", AttributeDef::Type::boolean, false),
         optional("roi", AttributeDef::Type::numbers), with_default("extrapolation_value", AttributeDef::Type::number, 0.0)},
        "x with its last axes (as many as there are `sizes` or `scales`) made larger or smaller, as ONNX's: nearest, linear or cubic; with "
        "both, `sizes` is the result's and `scales` says where elements come from; `roi`, all begins and then all ends, is for "
        "tf_crop_and_resize",
        resize_type, expand_resize)
        .also_called("Resize, interpolate, Upsample");

}  // namespace cleave::ops
