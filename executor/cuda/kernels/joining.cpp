// concat, stack, pad, repeat and tile: larger tensors from copies of their operands, with one thread for each piece of the result.
#include <algorithm>

#include "executor/cuda/kernels/moved.h"
#include "executor/cuda/kernels/pieces.h"
#include "graph/ops/rules.h"

namespace cleave::runtime::cuda {
namespace {

std::string number(std::size_t n) {
  return std::to_string(n);
}

// --- concat, stack: each row of the result consists of one run of each operand -----------------------------------------------------------

struct Run {
  std::size_t operand = 0;
  std::int64_t length = 0, end = 0;  ///< in pieces; `end` is the end of this run in the row
};

/// Statements that write the piece `p` of row `row`; they find its run by binary search.
void write_choice(KernelText& kernel, std::span<const Run> runs) {
  if (runs.size() == 1) {
    const Run& run = runs[0];
    const std::int64_t begin = run.end - run.length;
    kernel << "((Piece*)y0)[i] = ((const Piece*)x" << number(run.operand) << ")[row * " << kernel.index(run.length) << " + p"
           << (begin > 0 ? " - " + kernel.index(begin) : "") << "];\n";
    return;
  }
  const std::size_t half = runs.size() / 2;
  kernel << "if (p < " << kernel.index(runs[half - 1].end) << ") {\n";
  write_choice(kernel, runs.first(half));
  kernel << "} else {\n";
  write_choice(kernel, runs.subspan(half));
  kernel << "}\n";
}

/// `lengths`: the length of each operand's run in elements.
KernelSource join(const KernelRequest& request, const Architecture& architecture, const std::vector<std::int64_t>& lengths) {
  const TensorType& result = request.result_types[0];
  if (result.elements() == 0) return {};
  const std::int64_t size = size_of(result.dtype);
  std::int64_t piece = kWidestPiece, row = 0;
  std::vector<Run> runs;
  for (const std::int64_t length : lengths) piece = piece_bytes(length * size, piece);
  for (std::size_t k = 0; k < lengths.size(); ++k) {
    if (lengths[k] == 0) continue;
    const std::int64_t pieces = lengths[k] * size / piece;
    row += pieces;
    runs.push_back({k, pieces, row});
  }
  KernelText kernel("join", needs_wide_indices(request, architecture));
  kernel << "  typedef " << piece_type(piece) << " Piece;\n";
  kernel.begin_loop(result.bytes() / piece, architecture);
  kernel << "    const Index row = " << kernel.quotient("i", row) << ", p = i - row * " << kernel.index(row) << ";\n    ";
  write_choice(kernel, runs);
  kernel.end_loop();
  return assemble(of_bytes(request), kernel);
}

std::int64_t product(const Shape& shape, int from) {
  std::int64_t count = 1;
  for (auto axis = static_cast<std::size_t>(from); axis < shape.size(); ++axis) count *= shape[axis];
  return count;
}

KernelSource build_concat(const KernelRequest& request, const Architecture& architecture) {
  const int along = *ops::find_axis(request.attributes->get_or<std::int64_t>("axis", 0), request.result_types[0].rank());
  std::vector<std::int64_t> lengths;
  for (const TensorType& input : request.input_types) lengths.push_back(product(input.shape, along));
  return join(request, architecture, lengths);
}

KernelSource build_stack(const KernelRequest& request, const Architecture& architecture) {
  const TensorType& result = request.result_types[0];
  const int along = *ops::find_axis(request.attributes->get_or<std::int64_t>("axis", 0), result.rank());
  return join(request, architecture, std::vector<std::int64_t>(request.input_types.size(), product(result.shape, along + 1)));
}

// --- pad ---------------------------------------------------------------------------------------------------------------------------------

/// One axis of the result: `before` new elements, then those of x, then new ones.
struct PaddedAxis {
  std::int64_t before = 0, extent = 1, total = 1;
  [[nodiscard]] bool padded() const { return extent != total; }
};

/// The result's axes, outermost first. An axis without new elements is merged into the one before it.
std::vector<PaddedAxis> padded_axes(const KernelRequest& request) {
  const Shape &x = request.input_types[0].shape, &y = request.result_types[0].shape;
  const auto& widths = request.attributes->get<ops::Integers>("widths");
  std::vector<PaddedAxis> axes;
  for (std::size_t axis = 0; axis < x.size(); ++axis) {
    const PaddedAxis next{widths.size() == 1 ? widths[0] : widths[2 * axis], x[axis], y[axis]};
    if (axes.empty() || next.padded()) {
      axes.push_back(next);
    } else {
      axes.back() = {axes.back().before * next.total, axes.back().extent * next.total, axes.back().total * next.total};
    }
  }
  return axes;
}

KernelSource build_pad(const KernelRequest& request, const Architecture& architecture) {
  const TensorType& result = request.result_types[0];
  if (result.elements() == 0) return {};
  std::vector<PaddedAxis> axes = padded_axes(request);
  if (axes.empty()) axes.emplace_back();
  PaddedAxis& last = axes.back();
  const std::int64_t size = size_of(result.dtype);
  const std::int64_t piece = piece_bytes(last.total * size, piece_bytes(last.extent * size, piece_bytes(last.before * size))),
                     elements = piece / size;
  last = {last.before / elements, last.extent / elements, last.total / elements};
  Walk walk{{}, {{}}};
  std::int64_t stride = 1, offset = 0;
  for (std::size_t k = axes.size(); k-- > 0; stride *= axes[k].extent) {
    walk.extents.insert(walk.extents.begin(), axes[k].total);
    walk.strides[0].insert(walk.strides[0].begin(), stride);
    offset += axes[k].before * stride;
  }
  KernelText kernel("pad", needs_wide_indices(request, architecture));
  kernel << "  typedef " << piece_type(piece) << " Piece;\n";
  declare_piece(kernel, "value", piece, repeated_bits(request.attributes->get_or("value", 0.0), result.dtype));
  kernel.begin_loop(walk.count(), architecture);
  kernel.locate(walk, "i");
  std::string inside = "true";
  for (std::size_t k = 0; k < axes.size(); ++k) {
    if (!axes[k].padded()) continue;
    const std::string at = k > 0 ? "index" + number(k) : axes.size() > 1 ? "rest1" : "i";  // the names that `locate` declares
    const std::string begin = kernel.index(axes[k].before), end = kernel.index(axes[k].before + axes[k].extent);
    inside += " && " + at + " >= " + begin + " && " + at + " < " + end;
  }
  kernel << "    ((Piece*)y0)[i] = " << inside << " ? ((const Piece*)x0)[at0 - " << kernel.index(offset) << "] : value;\n";
  kernel.end_loop();
  return assemble(of_bytes(request), kernel);
}

// --- repeat, tile -----------------------------------------------------------------------------------------------------------------------

/// The result of repeat and tile as a view: each repeated axis is split in two, one of which has stride 0.
Moved repeat(const KernelRequest& request) {
  const TensorType& x = request.input_types[0];
  const int along = *ops::find_axis(request.attributes->get_or<std::int64_t>("axis", 0), x.rank());
  Moved moved{x.shape, {0, row_major_strides(x.shape)}};
  moved.shape.insert(moved.shape.begin() + along + 1, request.attributes->get<std::int64_t>("repeats"));
  moved.from.strides.insert(moved.from.strides.begin() + along + 1, 0);
  return moved;
}

Moved tile(const KernelRequest& request) {
  const Shape &narrow = request.input_types[0].shape, &wide = request.result_types[0].shape;
  const ops::Strides own = row_major_strides(narrow);
  const std::size_t lead = wide.size() - narrow.size();
  Moved moved;
  for (std::size_t axis = 0; axis < wide.size(); ++axis) {
    const std::int64_t extent = axis < lead ? 1 : narrow[axis - lead];
    moved.shape.insert(moved.shape.end(), {wide[axis] / extent, extent});
    moved.from.strides.insert(moved.from.strides.end(), {0, axis < lead ? 0 : own[axis - lead]});
  }
  return moved;
}

}  // namespace

constexpr KernelRow rows::concat{build_concat};
constexpr KernelRow rows::pad{build_pad};
constexpr KernelRow rows::repeat{build_moved<cuda::repeat>};
constexpr KernelRow rows::stack{build_stack};
constexpr KernelRow rows::tile{build_moved<cuda::tile>};

}  // namespace cleave::runtime::cuda
