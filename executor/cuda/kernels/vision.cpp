// nonzero, non_max_suppression, roi_align and grid_sample. The last two use graph/ops/sampling.h, compiled for the device. Suppression
// sorts the boxes of a class by score; then a block goes through them, and compares each box that it keeps with all later ones.
#include <bit>
#include <limits>

#include "executor/cuda/kernels/kernels.h"
#include "executor/cuda/kernels/radix.h"
#include "graph/ops/positions.h"
#include "graph/ops/vision_rules.h"

namespace cleave::runtime::cuda {
namespace {

constexpr std::int64_t kBlock = 256;

std::string number(std::int64_t value) {
  return std::to_string(value);
}
std::string truth(bool value) {
  return value ? "true" : "false";
}
std::string constant(KernelText& kernel, double value) {
  return "__longlong_as_double(" + kernel.constant(std::bit_cast<std::int64_t>(value)) + ")";
}

// --- nonzero -----------------------------------------------------------------------------------------------------------------------------

KernelSource build_nonzero(const KernelRequest& request, const Architecture& architecture) {
  const TensorType& x = request.input_types[0];
  const std::int64_t count = x.elements(), blocks = (count + kBlock - 1) / kBlock, size = request.result_types[0].shape[1], rank = x.rank();
  const bool wide = needs_wide_indices(request, architecture);
  const std::string type = name_of(x.dtype);
  std::vector<KernelText> kernels;
  KernelText& clearing = kernels.emplace_back("clear", wide);
  clearing << "  if (blockIdx.x == 0 && threadIdx.x == 0) y1[0] = 0;\n";
  clearing.begin_loop(rank * size, architecture);
  clearing << "    y0[i] = 0;\n";
  clearing.end_loop();
  if (count == 0) return assemble(request, {}, kernels);
  const auto begin = [&](const char* entry) {
    KernelText kernel(entry, wide);
    kernel << "  u32* const fronts = (u32*)scratch;\n  __shared__ u64 room[" << number(kBlock)
           << "];\n  const Index i = (Index)blockIdx.x * " << number(kBlock) << " + (Index)threadIdx.x;\n  const u32 here = i < "
           << kernel.index(count) << " && widen(x0[i]) != Wide<" << type << ">(0) ? 1 : 0;\n  u32 total;\n  const u32 front = sum_in_front<"
           << number(kBlock) << ">(here, (int)threadIdx.x, room, total);\n";
    kernel.launch.block = {static_cast<unsigned>(kBlock), 1, 1};
    kernel.launch.grid = {static_cast<unsigned>(blocks), 1, 1};
    return kernel;
  };
  KernelText counting = begin("count_nonzero");
  counting << "  if (threadIdx.x == 0) fronts[blockIdx.x] = total;\n";
  KernelText writing = begin("write_nonzero");
  writing << "  const Index at = (Index)(fronts[blockIdx.x] + front);\n  if (i == " << writing.index(count - 1)
          << ") y1[0] = (i32)(at + (Index)here);\n  if (here && at < " << writing.index(size) << ") {\n    Index rest = i;\n";
  for (std::int64_t axis = rank; axis-- > 0;) {
    const std::int64_t extent = x.shape[static_cast<std::size_t>(axis)];
    writing << "    {\n      const Index before = " << writing.quotient("rest", extent) << ";\n      y0[" << writing.index(axis * size)
            << " + at] = (i64)(rest - before * " << writing.index(extent) << ");\n      rest = before;\n    }\n";
  }
  writing << "  }\n";
  kernels.push_back(std::move(counting));
  kernels.push_back(sum_fronts("sum_nonzero", 1, blocks, 0, wide));
  kernels.push_back(std::move(writing));
  return assemble(request, device_text("lines"), kernels, blocks * 4);
}

// --- non_max_suppression -----------------------------------------------------------------------------------------------------------------

KernelSource build_suppression(const KernelRequest& request, const Architecture& architecture) {
  const TensorType &boxes = request.input_types[0], &scores = request.input_types[1];
  const ops::Suppression rule = ops::suppression_of(*request.attributes, scores.dtype);
  const std::int64_t count = boxes.shape[1], classes = scores.shape[1], lines = scores.shape[0] * classes,
                     all = request.result_types[0].shape[0], most = std::min(rule.most, count);
  const bool wide = needs_wide_indices(request, architecture);
  const std::string type = name_of(boxes.dtype), key = boxes.dtype == DType::f64 ? "u64" : "u32";
  std::vector<KernelText> before, behind;
  KernelText& clearing = before.emplace_back("clear", wide);
  clearing << "  if (blockIdx.x == 0 && threadIdx.x == 0) y1[0] = 0;\n";
  clearing.begin_loop(all * 3, architecture);
  clearing << "    y0[i] = -1;\n";
  clearing.end_loop();
  if (all == 0) return assemble(request, {}, before);
  const RadixSort sort(lines, count, boxes.dtype == DType::f64 ? 64 : 32, wide);
  const std::int64_t gone = (sort.scratch_bytes() + 255) / 256 * 256, kept = gone + (lines * count * 4 + 255) / 256 * 256,
                     fronts = kept + (lines * most * 4 + 255) / 256 * 256;
  KernelText& keys = before.emplace_back("write_keys", wide);
  sort.declare_unsorted(keys);
  keys.begin_loop(lines * count, architecture);
  keys << "    keys[i] = ~KeyOf<" << type << ", " << key << ", true>::of(x1[i]);\n    numbers[i] = (u32)(i - " << keys.quotient("i", count)
       << " * " << keys.index(count) << ");\n";
  keys.end_loop();
  KernelText& keeping = behind.emplace_back("keep_boxes", wide);
  sort.declare_sorted(keeping);
  const std::string n = keeping.index(count), limit = keeping.index(most);
  keeping << "  const Index line = (Index)blockIdx.x, batch = " << keeping.quotient("line", classes)
          << ";\n  const int t = (int)threadIdx.x;\n"
          << "  const u32* const order = numbers + line * " << n << ";\n  u32* const gone = (u32*)(scratch + " << keeping.constant(gone)
          << ") + line * " << n << ";\n  u32* const kept = (u32*)(scratch + " << keeping.constant(kept) << ") + line * " << limit << ";\n"
          << "  for (Index i = (Index)t; i < " << n << "; i += " << number(kBlock) << ") gone[i] = "
          << (rule.has_least ? "!((f64)plain(widen(x1[line * " + n + " + (Index)order[i]])) > " + constant(keeping, rule.least) + ")" : "0")
          << ";\n  __syncthreads();\n  Index found = 0;\n  for (Index i = 0; i < " << n << " && found < " << limit
          << "; ++i) {\n    if (gone[i]) continue;\n    if (t == 0) kept[found] = order[i];\n    ++found;\n    f64 here[4];\n"
          << "    for (int k = 0; k < 4; ++k) here[k] = (f64)plain(widen(x0[(batch * " << n << " + (Index)order[i]) * 4 + k]));\n"
          << "    for (Index j = i + 1 + (Index)t; j < " << n << "; j += " << number(kBlock)
          << ") {\n      if (gone[j]) continue;\n      f64 box[4];\n"
          << "      for (int k = 0; k < 4; ++k) box[k] = (f64)plain(widen(x0[(batch * " << n << " + (Index)order[j]) * 4 + k]));\n"
          << "      if (cleave::sampling::overlap(here, box, " << truth(rule.by_center) << ") > " << constant(keeping, rule.overlap)
          << ") gone[j] = 1;\n    }\n    __syncthreads();\n  }\n  if (t == 0) ((u32*)(scratch + " << keeping.constant(fronts)
          << "))[line] = (u32)found;\n";
  keeping.launch.block = {static_cast<unsigned>(kBlock), 1, 1};
  keeping.launch.grid = {static_cast<unsigned>(lines), 1, 1};
  KernelText& counting = behind.emplace_back("count_boxes", wide);  // before the counts are replaced by their prefix sums
  counting << "  const u32* const counts = (const u32*)(scratch + " << counting.constant(fronts)
           << ");\n  u32 sum = 0;\n  for (Index i = 0; i < " << counting.index(lines) << "; ++i) sum += counts[i];\n  y1[0] = (i32)sum;\n";
  counting.launch.block = {1, 1, 1};
  behind.push_back(sum_fronts("sum_boxes", 1, lines, fronts, wide));
  KernelText& writing = behind.emplace_back("write_boxes", wide);
  writing << "  const u32* const fronts = (const u32*)(scratch + " << writing.constant(fronts)
          << ");\n  const u32* const kept = (const u32*)(scratch + " << writing.constant(kept) << ");\n";
  writing.begin_loop(lines * most, architecture);
  writing << "    const Index line = " << writing.quotient("i", most) << ", place = i - line * " << writing.index(most)
          << ", front = (Index)fronts[line];\n"
          << "    const Index end = line + 1 < " << writing.index(lines) << " ? (Index)fronts[line + 1] : (Index)y1[0];\n"
          << "    if (place >= end - front) continue;\n    const Index batch = " << writing.quotient("line", classes)
          << ";\n    y0[(front + place) * 3] = (i64)batch;\n    y0[(front + place) * 3 + 1] = (i64)(line - batch * "
          << writing.index(classes) << ");\n    y0[(front + place) * 3 + 2] = (i64)kept[i];\n";
  writing.end_loop();
  return sort.assemble_around(request, std::move(before), std::move(behind), fronts + lines * 4 - sort.scratch_bytes(), {},
                              device_text("sampling"));
}

// --- roi_align, grid_sample --------------------------------------------------------------------------------------------------------------

std::string plane_of(const TensorType& x) {
  const std::string type = name_of(x.dtype);
  return std::string(device_text("sampling")) + "\nstruct Plane {\n  const " + type + "* data;\n  i64 rows, columns;\n  Compute<" + type +
         "> at(i64 row, i64 column) const { return load(data[row * columns + column]); }\n};\n";
}

KernelSource build_roi_align(const KernelRequest& request, const Architecture& architecture) {
  const TensorType &x = request.input_types[0], &result = request.result_types[0], &images = request.input_types[2];
  const sampling::Bins bins = ops::bins_of(*request.attributes);
  const std::string type = name_of(x.dtype);
  const std::int64_t count = x.shape[0], channels = x.shape[1];
  KernelText kernel("roi_align", needs_wide_indices(request, architecture));
  const std::string fault = ops::no_such_place("roi_align", "{}", {count});
  const auto find_image = [&](const std::string& n) {
    kernel << "    const i64 index = " << index_element("x2[" + n + "]", images.dtype) << ", image = index < 0 ? index + "
           << kernel.constant(count) << " : index;\n    if (image < 0 || image >= " << kernel.constant(count)
           << ") {\n      tell_fault(fault, ticket, index);\n      continue;\n    }\n";
  };
  if (result.elements() == 0) {
    kernel.begin_loop(images.elements(), architecture);
    find_image("i");
    kernel.end_loop();
    return assemble(request, {}, std::span(&kernel, 1), 0, fault);
  }
  kernel << "  const cleave::sampling::Bins bins = {" << kernel.constant(bins.rows) << ", " << kernel.constant(bins.columns) << ", "
         << kernel.constant(bins.samples) << ", " << constant(kernel, bins.scale) << ", " << truth(bins.half_pixel) << ", "
         << truth(bins.largest) << "};\n";
  kernel.begin_loop(result.elements(), architecture, 1, true);
  kernel << "    const Index rows = " << kernel.quotient("i", bins.columns) << ", column = i - rows * " << kernel.index(bins.columns)
         << ", plane = " << kernel.quotient("rows", bins.rows) << ", row = rows - plane * " << kernel.index(bins.rows)
         << ", n = " << kernel.quotient("plane", channels) << ", channel = plane - n * " << kernel.index(channels) << ";\n";
  find_image("n");
  kernel << "    Compute<" << type
         << "> region[4];\n    for (int k = 0; k < 4; ++k) region[k] = load(x1[n * 4 + k]);\n    const Plane from = {x0 + ((Index)image * "
         << kernel.index(channels) << " + channel) * " << kernel.index(x.shape[2] * x.shape[3]) << ", " << kernel.constant(x.shape[2])
         << ", " << kernel.constant(x.shape[3]) << "};\n    y0[i] = store<" << type
         << ">(cleave::sampling::roi_align(from, region, (i64)row, (i64)column, bins));\n";
  kernel.end_loop();
  return assemble(request, plane_of(x), std::span(&kernel, 1), 0, fault);
}

KernelSource build_grid_sample(const KernelRequest& request, const Architecture& architecture) {
  const TensorType &x = request.input_types[0], &grid = request.input_types[1], &result = request.result_types[0];
  if (result.elements() == 0) return {};
  const ops::GridSampling how = ops::grid_sampling_of(*request.attributes);
  const std::string type = name_of(x.dtype);
  const std::int64_t places = grid.shape[1] * grid.shape[2];
  KernelText kernel("grid_sample", needs_wide_indices(request, architecture));
  kernel.begin_loop(result.elements(), architecture);
  kernel << "    const Index line = " << kernel.quotient("i", places) << ", place = i - line * " << kernel.index(places)
         << ", n = " << kernel.quotient("line", x.shape[1]) << ";\n    const " << type << "* const at = x1 + (n * " << kernel.index(places)
         << " + place) * 2;\n    const Plane from = {x0 + line * " << kernel.index(x.shape[2] * x.shape[3]) << ", "
         << kernel.constant(x.shape[2]) << ", " << kernel.constant(x.shape[3]) << "};\n    y0[i] = store<" << type
         << ">(cleave::sampling::grid_sample(from, load(at[0]), load(at[1]), " << number(how.mode) << ", " << number(how.padding) << ", "
         << truth(how.align) << "));\n";
  kernel.end_loop();
  return assemble(request, kernel, plane_of(x));
}

}  // namespace

constexpr KernelRow rows::grid_sample{build_grid_sample};
constexpr KernelRow rows::non_max_suppression{build_suppression};
constexpr KernelRow rows::nonzero{build_nonzero};
constexpr KernelRow rows::roi_align{build_roi_align};

}  // namespace cleave::runtime::cuda
