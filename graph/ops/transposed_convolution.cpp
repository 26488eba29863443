// conv_transpose: a composite function. Results whose positions are equal modulo the strides (a phase) use the same taps of the weight, so
// that each phase is a convolution with these taps and without strides; then the phases are interleaved.
#include <numeric>

#include "graph/ops/op_table.h"
#include "graph/ops/window.h"
#include "graph/trace/composer.h"

namespace cleave::ops {
namespace {

constexpr Name kTransposedName{"conv_transpose"};

/// Parameters of one spatial axis, with the names of Window.
struct ConvolutionAxis {
  std::int64_t in = 1, kernel = 1, stride = 1, dilation = 1, before = 0, after = 0, extra = 0, out = 1;
  [[nodiscard]] std::int64_t phases() const { return stride; }
  /// The number of results of a phase.
  [[nodiscard]] std::int64_t length() const { return (before + out + stride - 1) / stride; }
};

std::string count_text(std::int64_t n) {
  return std::to_string(n);
}

std::variant<std::vector<ConvolutionAxis>, TypeError> find_axes_of(Types inputs, const Attributes& attributes) {
  const auto axes = static_cast<std::size_t>(inputs[0].rank() - 2);
  const auto wrong = [&](const std::string& reason) { return refuse(DiagnosticKind::value, kTransposedName.view(), inputs, reason); };
  constexpr std::int64_t kMost = std::int64_t{1} << 30;
  std::vector<ConvolutionAxis> all(axes);
  const auto read = [&](const char* name, std::int64_t least, std::size_t ends, const auto& take) -> std::optional<TypeError> {
    Integers numbers = attributes.get<Integers>(name);
    if (numbers.size() == 1) numbers.resize(axes, numbers[0]);
    if (numbers.size() == axes && ends == 2)
      numbers.insert(numbers.end(), numbers.begin(), numbers.begin() + static_cast<std::ptrdiff_t>(axes));
    if (numbers.size() != axes * ends)
      return wrong("`" + std::string(name) + "` has " + count_text(static_cast<std::int64_t>(numbers.size())) + " numbers for " +
                   count_text(static_cast<std::int64_t>(axes)) + " spatial axes");
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      if (numbers[i] < least)
        return wrong("`" + std::string(name) + "` must be " + (least == 0 ? "0 or more" : "positive") + ", not " + count_text(numbers[i]));
      if (numbers[i] > kMost) return wrong("`" + std::string(name) + "` of " + count_text(numbers[i]) + " is too large");
      take(all[i % axes], i / axes, numbers[i]);
    }
    return std::nullopt;
  };
  if (auto error = read("strides", 1, 1, [](ConvolutionAxis& axis, std::size_t, std::int64_t n) { axis.stride = n; }))
    return *std::move(error);
  if (auto error = read("dilations", 1, 1, [](ConvolutionAxis& axis, std::size_t, std::int64_t n) { axis.dilation = n; }))
    return *std::move(error);
  if (auto error = read("output_padding", 0, 1, [](ConvolutionAxis& axis, std::size_t, std::int64_t n) { axis.extra = n; }))
    return *std::move(error);
  if (auto error =
          read("pads", 0, 2, [](ConvolutionAxis& axis, std::size_t end, std::int64_t n) { (end == 0 ? axis.before : axis.after) = n; }))
    return *std::move(error);
  for (std::size_t i = 0; i < axes; ++i) {
    ConvolutionAxis& axis = all[i];
    axis.in = inputs[0].shape[i + 2];
    axis.kernel = inputs[1].shape[i + 2];
    const std::string where = " on spatial axis " + count_text(static_cast<std::int64_t>(i));
    if (axis.kernel < 1 || axis.in < 1) return wrong("x and the window need an element" + where);
    if (axis.in > kMost || axis.kernel > kMost) return wrong("the result would be too large" + where);
    if (axis.extra >= std::max(axis.stride, axis.dilation))
      return wrong("`output_padding` of " + count_text(axis.extra) + " must be smaller than the stride or the dilation" + where);
    axis.out = axis.stride * (axis.in - 1) + axis.extra + (axis.kernel - 1) * axis.dilation + 1 - axis.before - axis.after;
    if (axis.out < 1)
      return wrong("`pads` of " + count_text(axis.before) + " and " + count_text(axis.after) + " leave nothing of the result" + where);
  }
  return all;
}

constexpr std::int64_t kMostPhases = 4096;  ///< strides of 64 along two axes

TypeResult transposed_type(Types inputs, const Attributes& attributes) {
  const TensorType &x = inputs[0], &weight = inputs[1];
  const auto wrong = [&](const std::string& reason) { return refuse(DiagnosticKind::shape, kTransposedName.view(), inputs, reason); };
  for (const TensorType& input : inputs) {
    if (input.dtype != x.dtype || !is_floating(x.dtype))
      return refuse(DiagnosticKind::type, kTransposedName.view(), inputs, "needs floating-point numbers of one type; convert with astype");
  }
  if (auto error = check_spatial(kTransposedName.view(), inputs)) return *std::move(error);
  if (weight.rank() != x.rank()) return wrong("weight must have as many axes as x: channels, outputs of a group, and those of the window");
  const std::int64_t groups = attributes.get<std::int64_t>("group");
  if (groups < 1) return wrong("`group` must be positive, not " + count_text(groups));
  if (weight.shape[0] != x.shape[1])
    return wrong("weight is for " + count_text(weight.shape[0]) + " channels, x has " + count_text(x.shape[1]));
  if (x.shape[1] % groups != 0)
    return wrong("the " + count_text(x.shape[1]) + " channels of x do not divide into " + count_text(groups) + " groups");
  const auto found = find_axes_of(inputs, attributes);
  if (const auto* error = std::get_if<TypeError>(&found)) return *error;
  std::int64_t outputs = 0;
  if (__builtin_mul_overflow(weight.shape[1], groups, &outputs)) return wrong("the result would be too large");
  if (inputs.size() > 2 && inputs[2].shape != Shape{outputs})
    return wrong("bias must have the shape [" + count_text(outputs) + "]: a number for each output of weight");
  Shape shape = {x.shape[0], outputs};
  std::int64_t phases = 1;
  for (const ConvolutionAxis& axis : std::get<0>(found)) {
    shape.push_back(axis.out);
    if (__builtin_mul_overflow(phases, axis.stride, &phases) || phases > kMostPhases)
      return refuse(
          DiagnosticKind::unsupported, kTransposedName.view(), inputs,
          "strides of more than " + count_text(kMostPhases) + " in all are not supported: each would be a convolution of its own");
  }
  return give(kTransposedName.view(), inputs, {x.dtype, std::move(shape)});
}

/// The taps that the results of a phase use: `count` of them from `first` on, `step` apart. `apart` is the dilation of the phase's
/// convolution, and `back` the shift of its windows before the results.
struct PhaseTaps {
  std::int64_t first = 0, step = 1, count = 0, apart = 1, back = 0;
};
PhaseTaps taps_of(const ConvolutionAxis& axis, std::int64_t phase) {
  PhaseTaps taps;
  const std::int64_t common = std::gcd(axis.stride, axis.dilation);
  taps.step = axis.stride / common;
  taps.apart = axis.dilation / common;
  for (taps.first = 0; taps.first < std::min(taps.step, axis.kernel); ++taps.first) {
    if (taps.first * axis.dilation % axis.stride != phase) continue;
    taps.count = (axis.kernel - taps.first + taps.step - 1) / taps.step;
    taps.back = (taps.first * axis.dilation - phase) / axis.stride;
    break;
  }
  return taps;
}

class Phases {
 public:
  Phases(Composer& c, const Part& x, Part weight, const std::vector<ConvolutionAxis>& axes, std::int64_t groups)
      : c_(c), x_(x), weight_(std::move(weight)), axes_(axes), groups_(groups) {}

  /// The interleaved results of all phases of the axes from `axis` on. `chosen` has the phases of the axes before it.
  Part from(std::size_t axis, std::vector<PhaseTaps> chosen) {
    if (axis == axes_.size()) return one(chosen);
    Parts parts;
    for (std::int64_t phase = 0; phase < axes_[axis].phases(); ++phase) {
      chosen.push_back(taps_of(axes_[axis], phase));
      parts.push_back(from(axis + 1, chosen));
      chosen.pop_back();
    }
    if (parts.size() == 1) return parts[0];
    Shape shape = parts[0].shape();
    shape[axis + 2] *= axes_[axis].phases();
    return c_.reshape(c_(op::stack, parts, {{"axis", static_cast<std::int64_t>(axis + 3)}}), shape);
  }

 private:
  Part one(const std::vector<PhaseTaps>& chosen) {
    const std::size_t axes = axes_.size();
    Integers starts(2, 0), stops = {weight_.shape()[0], weight_.shape()[1]}, steps(2, 1), dilations, before, after,
                           cut = {x_.shape()[0], weight_.shape()[0]};
    Shape shape = {x_.shape()[0], weight_.shape()[0]};
    bool any = true;
    for (std::size_t i = 0; i < axes; ++i) {
      const PhaseTaps& taps = chosen[i];
      any = any && taps.count > 0;
      // The weight is flipped: tap k is at kernel - 1 - k.
      starts.push_back(axes_[i].kernel - 1 - (taps.first + (taps.count - 1) * taps.step));
      stops.push_back(axes_[i].kernel - taps.first);
      steps.push_back(taps.step);
      dilations.push_back(taps.apart);
      before.push_back(taps.back + (taps.count - 1) * taps.apart);
      after.push_back(std::max<std::int64_t>(0, axes_[i].length() - axes_[i].in - taps.back));
      shape.push_back(axes_[i].length());
    }
    if (!any) return c_(op::zeros, {}, {{"shape", shape}, {"dtype", x_.dtype()}});
    Integers pads = before;
    pads.insert(pads.end(), after.begin(), after.end());
    const Part taps = c_(op::slice, {weight_}, {{"starts", starts}, {"stops", stops}, {"steps", steps}});
    const Part y = c_(op::conv, {x_, taps}, {{"pads", pads}, {"dilations", dilations}, {"group", groups_}});
    return c_(op::slice, {y}, {{"starts", Integers(axes + 2, 0)}, {"stops", Integers(shape.begin(), shape.end())}});
  }

  Composer& c_;
  const Part& x_;
  const Part weight_;
  const std::vector<ConvolutionAxis>& axes_;
  const std::int64_t groups_;
};

/// Converts a weight [channels, outputs of a group, window] to [outputs, channels of a group, flipped window].
Part turned(Composer& c, const Part& weight, std::int64_t groups) {
  const Shape shape = weight.shape();
  const std::int64_t channels = shape[0] / groups;
  Shape apart = {groups, channels, shape[1]}, together = {groups * shape[1], channels};
  Integers order = {0, 2, 1}, axes;
  for (std::size_t i = 2; i < shape.size(); ++i) {
    apart.push_back(shape[i]);
    together.push_back(shape[i]);
    order.push_back(static_cast<std::int64_t>(i) + 1);
    axes.push_back(static_cast<std::int64_t>(i));
  }
  const Part outputs_first = c.reshape(c(op::permute_dims, {c.reshape(weight, apart)}, {{"axes", order}}), together);
  return c(op::flip, {outputs_first}, {{"axis", axes}});
}

Parts expand_transposed(Composer& c, const Parts& inputs, const Attributes& attributes) {
  const Part& x = inputs[0];
  const TensorType types[] = {x.type(), inputs[1].type()};
  const std::int64_t groups = attributes.get<std::int64_t>("group");
  const auto found = find_axes_of(types, attributes);
  const auto& axes = std::get<0>(found);
  const Part full = Phases(c, x, turned(c, inputs[1], groups), axes, groups).from(0, {});
  Integers starts(2, 0), stops = {x.shape()[0], full.shape()[1]};
  Shape beside(axes.size() + 1, 1);
  beside[0] = full.shape()[1];
  for (const ConvolutionAxis& axis : axes) {
    starts.push_back(axis.before);
    stops.push_back(axis.before + axis.out);
  }
  const Part y = c(op::slice, {full}, {{"starts", starts}, {"stops", stops}});
  return {inputs.size() > 2 ? c.add(y, c.reshape(inputs[2], beside)) : y};
}

}  // namespace

constexpr OpDef op::conv_transpose =
    Record("conv_transpose(x, weight, bias?, strides?, pads?, dilations?, output_padding?, group?)", 3,
           {with_default("strides", AttributeDef::Type::integers, OneInteger{1}),
            with_default("pads", AttributeDef::Type::integers, OneInteger{0}),
            with_default("dilations", AttributeDef::Type::integers, OneInteger{1}),
            with_default("output_padding", AttributeDef::Type::integers, OneInteger{0}),
            with_default("group", AttributeDef::Type::integer, std::int64_t{1})},
           "transposed convolution over the 1 to 3 axes behind batch and channels, as ONNX's; weight is `[channels, outputs / group, "
           "window…]`",
           transposed_type, expand_transposed)
        .operands(2, 3)
        .promoting(Promotion::floating)
        .also_called("ConvTranspose, conv_transpose1d, conv_transpose2d, conv_transpose3d");

}  // namespace cleave::ops
