// nonzero, non_max_suppression, roi_align and grid_sample: ops of detectors and warps, as ONNX defines them. A result whose size depends on
// the data in ONNX has the largest possible size here, padded, and comes with a count.
#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include "graph/base/number_text.h"
#include "graph/base/stop.h"
#include "graph/ops/convert.h"
#include "graph/ops/gradient_rules.h"
#include "graph/ops/length_rules.h"
#include "graph/ops/op_table.h"
#include "graph/ops/positions.h"
#include "graph/ops/rules.h"
#include "graph/ops/vision_rules.h"
#include "graph/ops/wrapping.h"

namespace cleave::ops {
namespace {

using Type = AttributeDef::Type;

constexpr std::int64_t kMostCount = std::numeric_limits<std::int32_t>::max();

/// The index of the attribute in `names`, or an error that lists the names.
template <std::size_t count>
std::variant<int, TypeError> choice(std::string_view op, Types inputs, const Attributes& attributes, const char* name,
                                    const std::array<std::string_view, count>& names) {
  const auto& given = attributes.get<std::string>(name);
  std::string all;
  for (std::size_t k = 0; k < count; ++k) {
    if (names[k] == given) return static_cast<int>(k);
    all += (k == 0 ? "" : ", ") + std::string(names[k]);
  }
  return refuse(DiagnosticKind::value, op, inputs, "`" + std::string(name) + "` is one of " + all + ", not `" + given + "`");
}

constexpr std::array<std::string_view, 3> kModes = {"linear", "nearest", "cubic"}, kPaddings = {"zeros", "border", "reflection"};
constexpr std::array<std::string_view, 2> kPooling = {"avg", "max"}, kRegionCoordinates = {"half_pixel", "output_half_pixel"};

template <std::size_t count>
int index_in(const Attributes& attributes, const char* name, const std::array<std::string_view, count>& names) {
  return static_cast<int>(std::find(names.begin(), names.end(), attributes.get<std::string>(name)) - names.begin());
}

// --- nonzero -----------------------------------------------------------------------------------------------------------------------------

TypeResult nonzero_type(Types inputs, const Attributes& attributes) {
  const TensorType& x = inputs[0];
  const auto* size = attributes.get_if<std::int64_t>("size");
  if (x.scalar()) return refuse(DiagnosticKind::shape, "nonzero", inputs, "a scalar has no positions");
  if (size && *size < 0)
    return refuse(DiagnosticKind::value, "nonzero", inputs, "`size` must not be negative, as " + std::to_string(*size) + " is");
  if (x.elements() > kMostCount) return refuse(DiagnosticKind::shape, "nonzero", inputs, "too many elements for an i32 count");
  return give("nonzero", inputs, {{DType::i64, {x.rank(), size ? *size : x.elements()}}, {DType::i32, {}}});
}

/// Elements behind a length are taken for zeros.
bool nonzero_lengths(LengthCall& call) {
  for (const Length& length : call.lengths[0]) call.masks.push_back({0, length.axis, Neutral::zero});
  return true;
}

Status nonzero_reference(const OpCall& call) {
  const Array& x = call.inputs[0];
  const Shape& shape = x.shape();
  const std::int64_t size = call.results[0].shape()[1];
  auto* out = call.results[0].mutable_data<std::int64_t>();  // zero-filled
  std::int32_t count = 0;
  dispatch(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    StopLooks looks;
    for (std::int64_t i = 0; i < x.size(); ++i) {
      looks.worked();
      if (load(x.data<T>()[i]) == load(T{})) continue;
      std::int64_t rest = i;
      for (std::size_t axis = shape.size(); axis-- > 0; rest /= shape[axis]) {
        if (count < size) out[static_cast<std::int64_t>(axis) * size + count] = rest % shape[axis];
      }
      ++count;
    }
  });
  *call.results[1].mutable_data<std::int32_t>() = count;
  return {};
}

// --- non_max_suppression -----------------------------------------------------------------------------------------------------------------

TypeResult suppression_type(Types inputs, const Attributes& attributes) {
  constexpr std::string_view op = "non_max_suppression";
  const TensorType &boxes = inputs[0], &scores = inputs[1];
  if (!is_floating(boxes.dtype)) return refuse(DiagnosticKind::type, op, inputs, "boxes and scores must be floating");
  if (boxes.dtype != scores.dtype) return refuse(DiagnosticKind::type, op, inputs, "boxes and scores differ in their element type");
  if (boxes.rank() != 3 || boxes.shape[2] != 4) return refuse(DiagnosticKind::shape, op, inputs, "boxes are [batches, boxes, 4]");
  if (scores.rank() != 3 || scores.shape[0] != boxes.shape[0] || scores.shape[2] != boxes.shape[1])
    return refuse(DiagnosticKind::shape, op, inputs,
                  "scores are [batches, classes, boxes], here [" + std::to_string(boxes.shape[0]) + ", classes, " +
                      std::to_string(boxes.shape[1]) + "]");
  const auto most = attributes.get<std::int64_t>("max_output_boxes_per_class");
  if (most < 0)
    return refuse(DiagnosticKind::value, op, inputs,
                  "`max_output_boxes_per_class` must not be negative, as " + std::to_string(most) + " is");
  if (const auto overlap = attributes.get<double>("iou_threshold"); !(overlap >= 0 && overlap <= 1))
    return refuse(DiagnosticKind::value, op, inputs, "`iou_threshold` is from 0 to 1, not " + shortest_text(overlap));
  std::int64_t all = std::min(most, boxes.shape[1]);
  if (__builtin_mul_overflow(all, scores.shape[0], &all) || __builtin_mul_overflow(all, scores.shape[1], &all) || all > kMostCount)
    return refuse(DiagnosticKind::shape, op, inputs, "the result would be too large");
  return give(op, inputs, {{DType::i64, {all, 3}}, {DType::i32, {}}});
}

template <class T>
double number(T element) {
  return static_cast<double>(load(element));
}

Status suppression_reference(const OpCall& call) {
  const Array &boxes = call.inputs[0], &scores = call.inputs[1];
  const Suppression rule = suppression_of(call.attributes, scores.dtype());
  const std::int64_t count = boxes.shape()[1], classes = scores.shape()[1];
  const std::int64_t lines = count == 0 ? 0 : scores.shape()[0] * classes;  // an axis without boxes may stand beside long ones
  auto* out = call.results[0].mutable_data<std::int64_t>();
  std::int64_t* const end = out + call.results[0].size();
  std::int32_t found = 0;
  dispatch(boxes.dtype(), [&](auto zero) {
    using T = decltype(zero);
    if constexpr (!std::is_integral_v<T>) {
      std::vector<double> corners;
      for (const T element : boxes.values<T>()) corners.push_back(number(element));
      for (std::int64_t line = 0; line < lines; ++line) {
        const T* score = scores.data<T>() + line * count;
        const double* all = corners.data() + line / classes * count * 4;
        std::vector<std::int64_t> order, kept;
        for (std::int64_t i = 0; i < count; ++i) {
          if (!rule.has_least || number(score[i]) > rule.least) order.push_back(i);
        }
        StopLooks looks;
        std::stable_sort(order.begin(), order.end(), [&](std::int64_t i, std::int64_t j) {
          looks.worked();
          const double a = number(score[i]), b = number(score[j]);
          return b < a || (b == b && a != a);  // NaN first, as in `top_k`
        });
        for (const std::int64_t i : order) {
          if (static_cast<std::int64_t>(kept.size()) == rule.most) break;
          const auto near = [&](std::int64_t k) {
            looks.worked(8);
            return sampling::overlap(all + 4 * k, all + 4 * i, rule.by_center) > rule.overlap;
          };
          if (std::any_of(kept.begin(), kept.end(), near)) continue;
          kept.push_back(i);
          for (const std::int64_t each : {line / classes, line % classes, i}) *out++ = each;
          ++found;
        }
      }
    }
  });
  std::fill(out, end, -1);
  *call.results[1].mutable_data<std::int32_t>() = found;
  return {};
}

/// Each box may be compared with every kept one.
Cost suppression_cost(Types inputs, Types results, const Attributes&) {
  const auto kept = static_cast<double>(results[0].shape[0]), boxes = static_cast<double>(inputs[0].shape[1]);
  return {8 * kept * boxes + static_cast<double>(inputs[1].elements()), traffic(inputs, results)};
}

// --- roi_align, grid_sample: one element of a plane --------------------------------------------------------------------------------------

template <class T>
struct Plane {
  const T* data;
  long long rows, columns;
  [[nodiscard]] Compute<T> at(long long row, long long column) const { return load(data[row * columns + column]); }
};

TypeResult roi_align_type(Types inputs, const Attributes& attributes) {
  constexpr std::string_view op = "roi_align";
  const TensorType &x = inputs[0], &regions = inputs[1], &images = inputs[2];
  if (!is_floating(x.dtype) || regions.dtype != x.dtype)
    return refuse(DiagnosticKind::type, op, inputs, "x and the regions must be of one floating type");
  if (!is_integer(images.dtype)) return refuse(DiagnosticKind::type, op, inputs, "the images' numbers must be integers");
  if (x.rank() != 4) return refuse(DiagnosticKind::shape, op, inputs, "x is [images, channels, rows, columns]");
  if (regions.rank() != 2 || regions.shape[1] != 4 || images.shape != Shape{regions.shape[0]})
    return refuse(DiagnosticKind::shape, op, inputs, "the regions are [n, 4], the images' numbers [n]");
  for (const auto& found :
       {choice(op, inputs, attributes, "mode", kPooling), choice(op, inputs, attributes, "coordinates", kRegionCoordinates)}) {
    if (const auto* error = std::get_if<TypeError>(&found)) return *error;
  }
  for (const char* name : {"output_height", "output_width"}) {
    if (attributes.get<std::int64_t>(name) < 1)
      return refuse(DiagnosticKind::value, op, inputs,
                    "`" + std::string(name) + "` must be 1 or more, not " + std::to_string(attributes.get<std::int64_t>(name)));
  }
  if (const auto ratio = attributes.get<std::int64_t>("sampling_ratio"); ratio < 0 || ratio > sampling::kMostSamples)
    return refuse(DiagnosticKind::value, op, inputs, "`sampling_ratio` is from 0 to 4096, not " + std::to_string(ratio));
  if (regions.shape[0] > 0 && x.shape[1] > 0 && x.shape[2] * x.shape[3] == 0)
    return refuse(DiagnosticKind::shape, op, inputs, "x has no elements to sample");
  return give(
      op, inputs,
      {x.dtype,
       {regions.shape[0], x.shape[1], attributes.get<std::int64_t>("output_height"), attributes.get<std::int64_t>("output_width")}});
}

Status roi_align_reference(const OpCall& call) {
  const Array &x = call.inputs[0], &regions = call.inputs[1], &images = call.inputs[2];
  const sampling::Bins bins = bins_of(call.attributes);
  const Shape& shape = x.shape();
  std::vector<std::int64_t> of;
  dispatch(images.dtype(), [&](auto zero) {
    using Index = decltype(zero);
    if constexpr (std::is_integral_v<Index>) {
      for (const Index index : images.values<Index>()) of.push_back(to_position(index));
    }
  });
  for (std::int64_t& image : of) {
    const std::int64_t place = place_of(image, shape[0]);
    if (place < 0) return Error{no_such_place("roi_align", std::to_string(image), {shape[0]})};
    image = place;
  }
  dispatch(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    if constexpr (!std::is_integral_v<T>) {
      using C = Compute<T>;
      T* out = call.results[0].mutable_data<T>();
      for (std::size_t n = 0; n < of.size(); ++n) {
        C region[4];
        for (std::size_t k = 0; k < 4; ++k) region[k] = load(regions.data<T>()[n * 4 + k]);
        for (std::int64_t channel = 0; channel < shape[1]; ++channel) {
          const Plane<T> plane{x.data<T>() + (of[n] * shape[1] + channel) * shape[2] * shape[3], shape[2], shape[3]};
          for (std::int64_t row = 0; row < bins.rows; ++row) {
            look_at_stop();
            for (std::int64_t column = 0; column < bins.columns; ++column)
              *out++ = store<T>(sampling::roi_align(plane, region, row, column, bins, look_at_stop));
          }
        }
      }
    }
  });
  return {};
}

Cost roi_align_cost(Types inputs, Types results, const Attributes& attributes) {
  const auto ratio = static_cast<double>(attributes.get<std::int64_t>("sampling_ratio"));
  const double samples = ratio > 0 ? ratio * ratio : 4;
  return {20 * samples * static_cast<double>(results[0].elements()),
          (4 * samples + 1) * static_cast<double>(results[0].bytes()) + static_cast<double>(inputs[1].bytes() + inputs[2].bytes())};
}

TypeResult grid_sample_type(Types inputs, const Attributes& attributes) {
  constexpr std::string_view op = "grid_sample";
  const TensorType &x = inputs[0], &grid = inputs[1];
  if (!is_floating(x.dtype) || grid.dtype != x.dtype)
    return refuse(DiagnosticKind::type, op, inputs, "x and the grid must be of one floating type");
  if (x.rank() != 4) return refuse(DiagnosticKind::shape, op, inputs, "x is [n, channels, rows, columns]");
  if (grid.rank() != 4 || grid.shape[3] != 2 || grid.shape[0] != x.shape[0])
    return refuse(DiagnosticKind::shape, op, inputs, "the grid is [n, height, width, 2], with as many n as x");
  const auto mode = choice(op, inputs, attributes, "mode", kModes), padding = choice(op, inputs, attributes, "padding", kPaddings);
  if (const auto* error = std::get_if<TypeError>(&mode)) return *error;
  if (const auto* error = std::get_if<TypeError>(&padding)) return *error;
  return give(op, inputs, {x.dtype, {x.shape[0], x.shape[1], grid.shape[1], grid.shape[2]}});
}

Status grid_sample_reference(const OpCall& call) {
  const Array &x = call.inputs[0], &grid = call.inputs[1];
  const GridSampling how = grid_sampling_of(call.attributes);
  const Shape& shape = x.shape();
  const std::int64_t places = grid.shape()[1] * grid.shape()[2];
  dispatch(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    if constexpr (!std::is_integral_v<T>) {
      T* out = call.results[0].mutable_data<T>();
      StopLooks looks;
      for (std::int64_t line = 0; line < shape[0] * shape[1]; ++line) {
        const Plane<T> plane{x.data<T>() + line * shape[2] * shape[3], shape[2], shape[3]};
        const T* at = grid.data<T>() + line / shape[1] * places * 2;
        for (std::int64_t place = 0; place < places; ++place, at += 2) {
          looks.worked(32);
          *out++ = store<T>(sampling::grid_sample(plane, load(at[0]), load(at[1]), how.mode, how.padding, how.align));
        }
      }
    }
  });
  return {};
}

Cost grid_sample_cost(Types inputs, Types results, const Attributes& attributes) {
  const int mode = grid_sampling_of(attributes).mode;
  const double taps = mode == sampling::kCubic ? 16 : mode == sampling::kLinear ? 4 : 1;
  return {(10 + 3 * taps) * static_cast<double>(results[0].elements()),
          (1 + taps) * static_cast<double>(results[0].bytes()) + static_cast<double>(inputs[1].bytes())};
}

}  // namespace

Suppression suppression_of(const Attributes& attributes, DType type) {
  const auto* given = attributes.get_if<double>("score_threshold");
  double least = 0;
  dispatch(type, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (!std::is_integral_v<T>) least = given ? number(convert<T>(*given)) : 0;
  });
  return {attributes.get<std::int64_t>("max_output_boxes_per_class"), attributes.get<double>("iou_threshold"), least, given != nullptr,
          attributes.get<bool>("center_point_box")};
}
sampling::Bins bins_of(const Attributes& attributes) {
  return {attributes.get<std::int64_t>("output_height"),
          attributes.get<std::int64_t>("output_width"),
          attributes.get<std::int64_t>("sampling_ratio"),
          attributes.get<double>("spatial_scale"),
          index_in(attributes, "coordinates", kRegionCoordinates) == 0,
          index_in(attributes, "mode", kPooling) == 1};
}
GridSampling grid_sampling_of(const Attributes& attributes) {
  return {index_in(attributes, "mode", kModes), index_in(attributes, "padding", kPaddings), attributes.get<bool>("align_corners")};
}

namespace {

constexpr AttributeDef count(std::string_view name, std::int64_t fallback) {
  return with_default(name, Type::integer, fallback);
}

}  // namespace

constexpr OpDef op::nonzero =
    Record("nonzero(x, size?)", 1, {optional("size", Type::integer)},
           "two results: i64 positions [axes, n] of what is not 0, in order, and how many there are; with `size` there are so many "
           "positions, of which those behind the last are zeros",
           nonzero_type, linear_cost, nonzero_reference)
        .of_class(CostClass::gather)
        .with_lengths(nonzero_lengths)
        .differentiated(GradientRule::zero());

constexpr OpDef op::non_max_suppression =
    Record("non_max_suppression(boxes, scores, max_output_boxes_per_class, iou_threshold?, score_threshold?, center_point_box?)", 2,
           {required("max_output_boxes_per_class", Type::integer), with_default("iou_threshold", Type::number, 0.0),
            optional("score_threshold", Type::number), with_default("center_point_box", Type::boolean, false)},
           "two results: i64 rows of batch, class and box, best first, then -1; and how many there are. As in ONNX", suppression_type,
           suppression_cost, suppression_reference)
        .of_class(CostClass::gather)
        .differentiated(GradientRule::zero());

// The index of an image may be out of range.
constexpr OpDef op::roi_align =
    Record(
        "roi_align(x, regions, images, output_height?, output_width?, sampling_ratio?, spatial_scale?, mode?, coordinates?)", 3,
        {count("output_height", 1), count("output_width", 1), count("sampling_ratio", 0), with_default("spatial_scale", Type::number, 1.0),
         with_default("mode", Type::text, "avg"), with_default("coordinates", Type::text, "half_pixel")},
        "bins of regions x1, y1, x2, y2 of images, by linear interpolation: `avg` or `max`; coordinates `half_pixel` or "
        "`output_half_pixel`. As in ONNX",
        roi_align_type, roi_align_cost, roi_align_reference)
        .with_lengths(lengths::roi_align)
        .of_class(CostClass::gather)
        .may_fail()
        .also_called("RoiAlign")
        .differentiated(GradientRule::none());

constexpr OpDef op::grid_sample =
    Record("grid_sample(x, grid, mode?, padding?, align_corners?)", 2,
           {with_default("mode", Type::text, "linear"), with_default("padding", Type::text, "zeros"),
            with_default("align_corners", Type::boolean, false)},
           "x [n, channels, rows, columns] at the places of a grid [n, height, width, 2]; `linear`, `nearest`, `cubic`; outside "
           "`zeros`, `border`, `reflection`. As in ONNX",
           grid_sample_type, grid_sample_cost, grid_sample_reference)
        .of_class(CostClass::gather)
        .also_called("GridSample")
        .differentiated(gradients::grid_sample);

}  // namespace cleave::ops
