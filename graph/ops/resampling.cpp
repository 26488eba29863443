// resize: a composite function. Axis by axis, each result is a weighted sum of one (nearest), two (linear) or four (cubic) elements whose
// places and weights are known from the extents.
#include <array>
#include <cmath>

#include "graph/ops/op_table.h"
#include "graph/ops/rules.h"
#include "graph/trace/composer.h"

namespace cleave::ops {
namespace {

constexpr Name kName{"resize"};

/// One of the resized axes.
struct Axis {
  std::int64_t at = 0, in = 1, out = 1;
  double scale = 1;
};

bool is_one_of(const std::string& word, std::initializer_list<const char*> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::variant<std::vector<Axis>, TypeError> find_resized(Types inputs, const Attributes& attributes) {
  const TensorType& x = inputs[0];
  const auto wrong = [&](const std::string& reason) { return refuse(DiagnosticKind::value, kName.view(), inputs, reason); };
  const auto* sizes = attributes.get_if<Integers>("sizes");
  const auto* scales = attributes.get_if<std::vector<double>>("scales");
  if ((sizes != nullptr) == (scales != nullptr)) return wrong("needs either `sizes` or `scales`");
  const auto count = static_cast<std::int64_t>(sizes ? sizes->size() : scales->size());
  const std::string name = sizes ? "`sizes`" : "`scales`";
  if (count > x.rank()) return wrong(name + " has " + std::to_string(count) + " numbers, x only " + std::to_string(x.rank()) + " axes");
  std::vector<Axis> all;
  for (std::int64_t i = 0; i < count; ++i) {
    Axis axis{x.rank() - count + i};
    axis.in = x.shape[static_cast<std::size_t>(axis.at)];
    const auto k = static_cast<std::size_t>(i);
    if (sizes) {
      axis.out = (*sizes)[k];
      if (axis.out < 0) return wrong("`sizes` must not be negative, as " + std::to_string(axis.out) + " is");
      axis.scale = axis.in > 0 ? static_cast<double>(axis.out) / static_cast<double>(axis.in) : 1;
    } else {
      axis.scale = (*scales)[k];
      const double out = std::floor(static_cast<double>(axis.in) * axis.scale);
      if (!(axis.scale > 0) || !(out < 0x1p53)) return wrong("`scales` must be positive, and not too large");
      axis.out = static_cast<std::int64_t>(out);
    }
    if (axis.in == 0 && axis.out > 0) return wrong("an axis without elements cannot become one of " + std::to_string(axis.out));
    all.push_back(axis);
  }
  return all;
}

TypeResult type(Types inputs, const Attributes& attributes) {
  const TensorType& x = inputs[0];
  const auto wrong = [&](const std::string& reason) { return refuse(DiagnosticKind::value, kName.view(), inputs, reason); };
  const auto word = [&](const char* name) { return attributes.get<std::string>(name); };
  if (!is_one_of(word("mode"), {"nearest", "linear", "cubic"}))
    return wrong("`mode` must be nearest, linear or cubic, not " + word("mode"));
  if (!is_floating(x.dtype) && word("mode") != "nearest")
    return refuse(DiagnosticKind::type, kName.view(), inputs, "of integers and bool can only be nearest; convert with astype");
  if (!is_one_of(word("coordinate_transformation_mode"), {"half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric"}))
    return wrong("`coordinate_transformation_mode` must be half_pixel, pytorch_half_pixel, align_corners or asymmetric, not " +
                 word("coordinate_transformation_mode"));
  if (!is_one_of(word("nearest_mode"), {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}))
    return wrong("`nearest_mode` must be round_prefer_floor, round_prefer_ceil, floor or ceil, not " + word("nearest_mode"));
  auto axes = find_resized(inputs, attributes);
  if (auto* error = std::get_if<TypeError>(&axes)) return std::move(*error);
  TensorType result = x;
  for (const Axis& axis : std::get<0>(axes)) result.shape[static_cast<std::size_t>(axis.at)] = axis.out;
  return give(kName.view(), inputs, std::move(result));
}

/// The place in x that element `i` of the result comes from.
double place_of(const Axis& axis, std::int64_t i, const std::string& mode) {
  const auto at = static_cast<double>(i);
  if (mode == "asymmetric") return at / axis.scale;
  if (mode == "align_corners") return axis.out > 1 ? at * static_cast<double>(axis.in - 1) / static_cast<double>(axis.out - 1) : 0;
  if (mode == "pytorch_half_pixel" && axis.out <= 1) return 0;
  return (at + 0.5) / axis.scale - 0.5;
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

/// What results along an axis are made of: so many elements each, with their weights.
struct Taps {
  std::vector<Integers> places;
  std::vector<std::vector<double>> weights;
};

Taps taps_of(const Axis& axis, const Attributes& attributes) {
  const auto& mode = attributes.get<std::string>("mode");
  const std::size_t count = mode == "nearest" ? 1 : mode == "linear" ? 2 : 4;
  const double a = attributes.get<double>("cubic_coeff_a");
  Taps taps{std::vector<Integers>(count), std::vector<std::vector<double>>(count)};
  for (std::int64_t i = 0; i < axis.out; ++i) {
    const double place = place_of(axis, i, attributes.get<std::string>("coordinate_transformation_mode"));
    const double first =
        mode == "nearest" ? nearest(place, attributes.get<std::string>("nearest_mode")) : std::floor(place) - (mode == "cubic" ? 1 : 0);
    double sum = 0;
    for (std::size_t k = 0; k < count; ++k) {
      const double at = first + static_cast<double>(k), inside = std::clamp<double>(at, 0, static_cast<double>(axis.in - 1));
      double weight = count == 1 ? 1 : count == 2 ? 1 - std::abs(place - at) : cubic(place - at, a);
      if (attributes.get<bool>("exclude_outside") && at != inside) weight = 0;
      sum += weight;
      taps.places[k].push_back(static_cast<std::int64_t>(inside));
      taps.weights[k].push_back(weight);
    }
    for (std::size_t k = 0; k < count && attributes.get<bool>("exclude_outside") && sum != 0; ++k) taps.weights[k].back() /= sum;
  }
  return taps;
}

/// How often each element follows itself, where all do alike; else 0.
std::int64_t repeats(const Axis& axis, const Taps& taps) {
  const std::int64_t times = axis.out / axis.in;
  if (taps.places.size() > 1 || axis.out % axis.in != 0) return 0;
  for (std::int64_t i = 0; i < axis.out; ++i)
    if (taps.places[0][static_cast<std::size_t>(i)] != i / times) return 0;
  return times;
}

Part take_along(Composer& c, const Part& x, const Axis& axis, const Taps& taps) {
  if (const std::int64_t times = repeats(axis, taps); times > 0) return c("repeat", {x}, {{"repeats", times}, {"axis", axis.at}});
  Part sum;
  Shape beside(static_cast<std::size_t>(x.rank() - axis.at), 1);
  beside[0] = axis.out;
  for (std::size_t k = 0; k < taps.places.size(); ++k) {
    Array places(TensorType{DType::i64, {axis.out}});
    std::copy(taps.places[k].begin(), taps.places[k].end(), places.mutable_data<std::int64_t>());
    const Part taken = c("take", {x, c.constant(std::move(places))}, {{"axis", axis.at}});
    if (taps.places.size() == 1) return taken;
    Array weights(TensorType{x.dtype(), beside});
    for (std::int64_t i = 0; i < axis.out; ++i) {
      const double weight = taps.weights[k][static_cast<std::size_t>(i)];
      if (x.dtype() == DType::f64) {
        weights.mutable_data<double>()[i] = weight;
      } else {
        weights.mutable_data<float>()[i] = static_cast<float>(weight);
      }
    }
    const Part part = c.multiply(taken, c.constant(std::move(weights)));
    sum = k == 0 ? part : c.add(sum, part);
  }
  return sum;
}

Parts expand(Composer& c, const Parts& inputs, const Attributes& attributes) {
  const TensorType given = inputs[0].type();
  const auto axes = find_resized(std::span(&given, 1), attributes);
  const bool narrow = given.dtype == DType::f16 || given.dtype == DType::bf16;
  const bool widens = narrow && attributes.get<std::string>("mode") != "nearest";
  Part x = widens ? c("astype", {inputs[0]}, {{"dtype", DType::f32}}) : inputs[0];
  for (const Axis& axis : std::get<0>(axes)) {
    if (axis.out == axis.in && axis.scale == 1) continue;
    if (axis.in == 0 || axis.out == 0) {
      Shape shape = x.shape();
      shape[static_cast<std::size_t>(axis.at)] = axis.out;
      x = c("zeros", {}, {{"shape", shape}, {"dtype", x.dtype()}});
    } else {
      x = take_along(c, x, axis, taps_of(axis, attributes));
    }
  }
  return {widens ? c("astype", {x}, {{"dtype", given.dtype}}) : x};
}

}  // namespace

std::span<const OpDef> resampling_functions() {
  static const std::vector<OpDef> functions = [] {
    using enum AttributeDef::Type;
    const auto word = [](const char* name, const char* fallback) { return with_default(name, text, std::string(fallback)); };
    return std::vector<OpDef>{composite_record(
        "resize(x, sizes?, scales?, mode?, coordinate_transformation_mode?, nearest_mode?, cubic_coeff_a?, exclude_outside?)", 1,
        {optional("sizes", integers), optional("scales", numbers), word("mode", "nearest"),
         word("coordinate_transformation_mode", "half_pixel"), word("nearest_mode", "round_prefer_floor"),
         with_default("cubic_coeff_a", number, -0.75), with_default("exclude_outside", boolean, false)},
        "x with its last axes (as many as there are `sizes` or `scales`) made larger or smaller, as ONNX's: nearest, linear or cubic", type,
        expand)};
  }();
  return functions;
}

}  // namespace cleave::ops
