// Lowerings of GridSample (images and volumes at computed positions) and AffineGrid.
#include <algorithm>

#include "models/onnx/call.h"

namespace cleave::models::onnx {
namespace {

using Integers = std::vector<std::int64_t>;

// --- volumes -----------------------------------------------------------------------------------------------------------------------------

/// Samples a volume [n, channels, planes, rows, columns] at the positions of a grid [n, …, 3]: from eight neighbors, or the nearest
/// element.
class VolumeSampler {
 public:
  VolumeSampler(Call& c, std::string padding, bool align)
      : c_(c), padding_(std::move(padding)), align_(align), dtype_(c[0].dtype()), shape_(c[0].shape()), grid_(c[1].shape()) {
    places_ = c_[1].type().elements() / 3 / std::max<std::int64_t>(1, grid_[0]);
    flat_ = c_.reshape(c_[0], {shape_[0], shape_[1], shape_[2] * shape_[3] * shape_[4]});
    grid_flat_ = c_.reshape(c_[1], {grid_[0], places_, 3});
  }

  Part nearest() {
    Part index, inside;
    for (std::size_t axis = 0; axis < 3; ++axis) add_axis(axis, moved(axis, c_(op::round, {place(axis)})), index, inside);
    return shaped(taken(index, inside));
  }

  Part linear() {
    Part low[3], part[3];
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const Part at = moved(axis, place(axis));
      low[axis] = c_(op::floor, {at});
      part[axis] = c_.subtract(at, low[axis]);
    }
    Part sum;
    for (unsigned corner = 0; corner < 8; ++corner) {
      Part index, inside, weight;
      for (std::size_t axis = 0; axis < 3; ++axis) {
        const bool upper = (corner >> (2 - axis) & 1U) != 0;
        add_axis(axis, upper ? c_.add(low[axis], 1) : low[axis], index, inside);
        const Part share = upper ? part[axis] : c_.subtract(1, part[axis]);
        weight = axis == 0 ? share : c_.multiply(weight, share);
      }
      const Part term = c_.multiply(taken(index, inside), weight);
      sum = corner == 0 ? term : c_.add(sum, term);
    }
    return shaped(sum);
  }

 private:
  [[nodiscard]] double extent(std::size_t axis) const { return static_cast<double>(shape_[axis + 2]); }

  /// The coordinate along `axis`, [n, 1, positions], in elements; the grid has columns first.
  Part place(std::size_t axis) {
    const auto last = static_cast<std::int64_t>(2 - axis);
    const Part normal =
        c_.reshape(c_(op::slice, {grid_flat_}, {{"starts", Integers{0, 0, last}}, {"stops", Integers{grid_[0], places_, last + 1}}}),
                   {grid_[0], 1, places_});
    const Part from_zero = c_.add(normal, 1);
    if (align_) return c_.multiply(from_zero, c_.number_as(dtype_, (extent(axis) - 1) / 2));
    return c_.multiply(c_.subtract(c_.multiply(from_zero, c_.number_as(dtype_, extent(axis))), 1), c_.number_as(dtype_, 0.5));
  }

  /// The coordinate from which a position outside the volume is sampled.
  Part moved(std::size_t axis, Part at) {
    if (padding_ == "reflection") at = reflected(at, align_ ? 0 : -0.5, align_ ? extent(axis) - 1 : extent(axis) - 0.5);
    return padding_ == "zeros" ? at : bounded(axis, at);
  }
  Part bounded(std::size_t axis, const Part& at) {
    return c_(op::clip, {at, c_.number_as(dtype_, 0), c_.number_as(dtype_, extent(axis) - 1)});
  }

  /// Reflects `at` at both ends until it is between them.
  Part reflected(const Part& at, double low, double high) {
    if (!(high > low)) return c_.multiply(at, 0);
    const Part span = c_.number_as(dtype_, high - low);
    const Part distance = c_(op::abs, {c_.subtract(at, c_.number_as(dtype_, low))});
    const Part turns = c_(op::floor, {c_.divide(distance, span)}), rest = c_.subtract(distance, c_.multiply(turns, span));
    const Part even = c_(op::equal, {c_(op::remainder, {turns, c_.number_as(dtype_, 2)}), 0});
    return c_(op::where, {even, c_.add(rest, c_.number_as(dtype_, low)), c_.subtract(c_.number_as(dtype_, high), rest)});
  }

  /// Adds an axis to the index into the flat volume, and for zero padding to the mask of positions inside.
  void add_axis(std::size_t axis, const Part& at, Part& index, Part& inside) {
    const Part own = c_.as(DType::i32, bounded(axis, at));
    index = axis == 0 ? own : c_.add(c_.multiply(index, shape_[axis + 2]), own);
    if (padding_ != "zeros") return;
    const Part here = c_(op::equal, {at, bounded(axis, at)});
    inside = axis == 0 ? here : c_(op::logical_and, {inside, here});
  }
  Part taken(const Part& index, const Part& inside) {
    const Part element = c_(op::take_along_axis, {flat_, index}, {{"axis", std::int64_t{2}}});
    return padding_ == "zeros" ? c_(op::where, {inside, element, c_.number_as(dtype_, 0)}) : element;
  }
  Part shaped(const Part& y) { return c_.reshape(y, {shape_[0], shape_[1], grid_[1], grid_[2], grid_[3]}); }

  Call& c_;
  const std::string padding_;
  const bool align_;
  const DType dtype_;
  const Shape shape_, grid_;
  std::int64_t places_ = 0;
  Part flat_, grid_flat_;
};

Values grid_sample(Call& c) {
  std::string mode = c.text("mode", "linear");
  const std::string padding = c.text("padding_mode", "zeros");
  const bool align = c.flag("align_corners");
  if (mode == "bilinear") mode = "linear";
  if (mode == "bicubic") mode = "cubic";
  if (c[0].rank() != 5) return {c(op::grid_sample, {c[0], c[1]}, {{"mode", mode}, {"padding", padding}, {"align_corners", align}})};
  const Shape x = c[0].shape(), grid = c[1].shape();
  if (grid.size() != 5 || grid[4] != 3 || grid[0] != x[0] || c[0].dtype() != c[1].dtype() || !is_floating(c[0].dtype()))
    return c.mistake(DiagnosticKind::shape,
                     "`GridSample` of the volumes " + to_string(c[0].type()) + " takes a grid [n, …, 3], not " + to_string(c[1].type()));
  if ((mode != "linear" && mode != "nearest") || (padding != "zeros" && padding != "border" && padding != "reflection"))
    return c.unsupported("of volumes by `" + mode + "` with the padding `" + padding + "`");
  const std::int64_t elements = x[2] * x[3] * x[4];
  if (elements < 1 || elements > INT32_MAX) return c.unsupported("of " + to_string(c[0].type()));
  VolumeSampler sampler(c, padding, align);
  return {mode == "linear" ? sampler.linear() : sampler.nearest()};
}

// --- affine maps -------------------------------------------------------------------------------------------------------------------------

/// The coordinate of element `i` in [-1, 1]: with `align`, the ends are the outermost elements' centers, else the axis' edges.
double normal_place(std::int64_t i, std::int64_t extent, bool align) {
  if (align) return extent > 1 ? -1 + 2 * static_cast<double>(i) / static_cast<double>(extent - 1) : -1;
  return (2 * static_cast<double>(i) + 1) / static_cast<double>(extent) - 1;
}

/// The coordinates of all elements, with 1 appended, times the transposed map.
Values affine_grid(Call& c) {
  const bool align = c.flag("align_corners");
  const auto size = c.known_integers(1, "the shape of its result");
  if (!size) return c.poison();
  const std::size_t axes = size->size() < 2 ? 0 : size->size() - 2;
  const auto count = static_cast<std::int64_t>(axes);
  if ((axes != 2 && axes != 3) || c[0].shape() != Shape{(*size)[0], count, count + 1})
    return c.mistake(DiagnosticKind::shape,
                     "`AffineGrid`: maps of " + to_string(c[0].type()) + " do not fit the size " + to_string(Shape(*size)));
  const Shape extents(size->begin() + 2, size->end());
  std::int64_t places = 1;
  for (const std::int64_t extent : extents) places *= extent;
  std::vector<double> base;
  for (std::int64_t place = 0; place < places; ++place) {
    std::int64_t rest = place;
    for (std::size_t axis = axes; axis-- > 0; rest /= extents[axis])
      base.push_back(normal_place(rest % extents[axis], extents[axis], align));
    base.push_back(1);
  }
  const Part points = c.numbers_constant(base, c[0].dtype(), {places, count + 1});
  Shape shape = {(*size)[0]};
  shape.insert(shape.end(), extents.begin(), extents.end());
  shape.push_back(count);
  return {c.reshape(c(op::matmul, {points, c(op::transpose, {c[0]})}), shape)};
}

}  // namespace

std::span<const Lowering> sampling_lowerings() {
  static constexpr Lowering kRows[] = {
      {"AffineGrid", 20, affine_grid},
      {"GridSample", 16, grid_sample},
  };
  return kRows;
}

}  // namespace cleave::models::onnx
