// take_along_axis, gather_nd and the scatters, all as one walk over indices (graph/ops/places.h). A scatter sorts its updates by
// destination, stably; then one thread applies all updates of a destination in the order of the indices, so that for every reduction the
// result is bitwise identical to the host's. An invalid index is reported through the words of `fault`, and nothing is read or written for
// it.
#include <bit>
#include <limits>

#include "executor/cuda/kernels/kernel_text.h"
#include "executor/cuda/kernels/kernels.h"
#include "executor/cuda/kernels/pieces.h"
#include "executor/cuda/kernels/radix.h"
#include "graph/ops/places.h"

namespace cleave::runtime::cuda {
namespace {

using ops::ComputedPositions;
using ops::Reduction;

ComputedPositions places_of(const KernelRequest& request) {
  return ops::places_of(request.op->name, std::span(request.input_types).first(2), *request.attributes);
}

/// Statements for run `i` (a name). They declare `at`, its offset in units of which a run has `run`; `there`, true if the index is valid;
/// and `wrong`, the invalid index.
void find_place(KernelText& kernel, const KernelRequest& request, const ComputedPositions& places, const std::string& i, std::int64_t run) {
  const auto units = [&](std::int64_t elements) { return places.run == 0 ? 0 : elements / places.run * run; };
  std::vector<ops::Strides> strides = {places.fixed, places.indices};
  for (std::int64_t& stride : strides[0]) stride = units(stride);
  kernel.locate(make_walk(places.shape, strides), i);
  kernel << "    Index at = at0;\n    i64 wrong = 0;\n    bool there = true;\n";
  for (std::size_t a = 0; a < places.extents.size(); ++a) {
    const std::string extent = kernel.constant(places.extents[a]);
    kernel << "    {\n      const i64 index = " << index_element("x1[at1 + " + std::to_string(a) + "]", request.input_types[1].dtype)
           << ", place = index < 0 ? index + " << extent << " : index;\n      if (there && (place < 0 || place >= " << extent
           << ")) {\n        there = false;\n        wrong = index;\n      }\n"
           << "      if (there) at += (Index)place * " << kernel.index(units(places.strides[a])) << ";\n    }\n";
  }
}

std::string words_of_fault(const KernelRequest& request) {
  return ops::no_such_place(request.op->name, "{}", request.input_types[0].shape);
}

/// The kernel for empty runs: it only checks the indices.
KernelText look_at_indices(const KernelRequest& request, const Architecture& architecture, const ComputedPositions& places, bool wide) {
  const auto axes = static_cast<std::int64_t>(places.extents.size());
  KernelText kernel("look_at_indices", wide);
  kernel.begin_loop(axes == 0 ? 0 : request.input_types[1].elements() / axes, architecture);
  for (std::int64_t a = 0; a < axes; ++a) {
    const std::string extent = kernel.constant(places.extents[static_cast<std::size_t>(a)]);
    kernel << "    {\n      const i64 wrong = "
           << index_element("x1[i * " + kernel.index(axes) + " + " + std::to_string(a) + "]", request.input_types[1].dtype)
           << ";\n      if (wrong < -" << extent << " || wrong >= " << extent << ") {\n      tell_fault(fault, ticket, wrong);\n"
           << "      continue;\n      }\n    }\n";
  }
  kernel.end_loop();
  return kernel;
}

/// of_bytes(), except that the indices keep their type.
KernelRequest of_bytes_but_indices(const KernelRequest& request) {
  KernelRequest bytes = of_bytes(request);
  bytes.input_types[1].dtype = request.input_types[1].dtype;
  return bytes;
}

KernelSource build_gather(const KernelRequest& request, const Architecture& architecture) {
  const TensorType& result = request.result_types[0];
  const ComputedPositions places = places_of(request);
  const bool wide = needs_wide_indices(request, architecture);
  const KernelRequest bytes = of_bytes_but_indices(request);
  if (result.elements() == 0) {
    const KernelText look = look_at_indices(request, architecture, places, wide);
    return assemble(bytes, {}, std::span(&look, 1), 0, words_of_fault(request));
  }
  const std::int64_t size = size_of(result.dtype), piece = piece_bytes(places.run * size), run = places.run * size / piece;
  KernelText kernel("gather", wide);
  kernel << "  typedef " << piece_type(piece) << " Piece;\n";
  kernel.begin_loop(result.bytes() / piece, architecture);
  kernel << "    const Index r = " << kernel.quotient("i", run) << ", p = i - r * " << kernel.index(run) << ";\n";
  find_place(kernel, request, places, "r", run);
  kernel << "    if (!there) {\n      tell_fault(fault, ticket, wrong);\n      continue;\n    }\n    ((Piece*)y0)[i] = ((const "
            "Piece*)x0)[at + p];\n";
  kernel.end_loop();
  return assemble(bytes, {}, std::span(&kernel, 1), 0, words_of_fault(request));
}

// --- scatters ----------------------------------------------------------------------------------------------------------------------------

KernelText copy_unless_there(const TensorType& x, const Architecture& architecture, bool wide) {
  KernelText kernel("copy_unless_there", wide);
  const std::int64_t piece = piece_bytes(x.bytes());
  kernel << "  typedef " << piece_type(piece) << " Piece;\n  if ((const void*)y0 == (const void*)x0) return;\n";
  kernel.begin_loop(x.bytes() / piece, architecture);
  kernel << "    ((Piece*)y0)[i] = ((const Piece*)x0)[i];\n";
  kernel.end_loop();
  return kernel;
}

std::string_view step_of(Reduction reduction) {
  switch (reduction) {
    case Reduction::none: return "b";
    case Reduction::add: return "a + b";
    case Reduction::mul: return "a * b";
    case Reduction::max: return "a != a || a >= b ? a : b";
    case Reduction::min: return "a != a || a <= b ? a : b";
  }
  return {};
}

/// One thread for each element of each update. The thread at the first update of a destination applies all updates of that destination.
KernelText make_updates(const KernelRequest& request, const Architecture& architecture, const ComputedPositions& places,
                        const RadixSort& sort, std::int64_t rows, bool wide) {
  const std::string type = name_of(request.result_types[0].dtype);
  const std::int64_t count = places.count();
  const Reduction reduction = ops::reduction_of(request.op->name, *request.attributes);
  KernelText kernel("make_updates", wide);
  sort.declare_sorted(kernel);
  kernel.begin_loop(count * places.run, architecture);
  kernel << "    const Index r = " << kernel.quotient("i", places.run) << ", p = i - r * " << kernel.index(places.run) << ";\n"
         << "    const auto key = keys[r];\n    if ((i64)key == " << kernel.constant(rows)
         << " || (r > 0 && keys[r - 1] == key)) continue;\n"
         << "    " << type << "* const to = y0 + (Index)key * " << kernel.index(places.run) << " + p;\n    Index last = r;\n";
  const std::string update = "x2[(Index)numbers[last] * " + kernel.index(places.run) + " + p]";
  if (reduction == Reduction::none) {
    kernel << "    while (last + 1 < " << kernel.index(count) << " && keys[last + 1] == key) ++last;\n    *to = " << update << ";\n";
  } else {
    kernel << "    " << type << " sum = *to;\n    for (; last < " << kernel.index(count) << " && keys[last] == key; ++last) {\n"
           << "      const Compute<" << type << "> a = load(sum), b = load(" << update << ");\n      sum = store<" << type << ">(Compute<"
           << type << ">(" << step_of(reduction) << "));\n    }\n    *to = sum;\n";
  }
  kernel.end_loop();
  return kernel;
}

KernelSource build_scatter(const KernelRequest& request, const Architecture& architecture) {
  const TensorType& x = request.result_types[0];
  const ComputedPositions places = places_of(request);
  const bool wide = needs_wide_indices(request, architecture);
  std::vector<KernelText> before;
  if (x.elements() > 0) before.push_back(copy_unless_there(x, architecture, wide));
  const std::int64_t count = places.count();
  if (x.elements() == 0 || count == 0) {
    before.push_back(look_at_indices(request, architecture, places, wide));
    return assemble(request, {}, before, 0, words_of_fault(request));
  }
  const std::int64_t rows = x.elements() / places.run;
  const RadixSort sort(1, count, static_cast<int>(std::bit_width(static_cast<std::uint64_t>(rows))), wide);
  KernelText& keys = before.emplace_back("find_places", wide);
  sort.declare_unsorted(keys);
  keys.begin_loop(count, architecture);
  find_place(keys, request, places, "i", 1);
  keys << "    if (!there) {\n      tell_fault(fault, ticket, wrong);\n    }\n    keys[i] = (" << sort.key_type()
       << ")(there ? at : (Index)" << keys.constant(rows) << ");\n    numbers[i] = (u32)i;\n";
  keys.end_loop();
  std::vector<KernelText> behind = {make_updates(request, architecture, places, sort, rows, wide)};
  return sort.assemble_around(request, std::move(before), std::move(behind), 0, words_of_fault(request));
}

/// True if 32 bits suffice to number the updates.
bool few_updates(const KernelRequest& request) {
  return places_of(request).count() <= std::numeric_limits<std::int32_t>::max();
}

}  // namespace

constexpr KernelRow rows::take_along_axis{build_gather};
constexpr KernelRow rows::gather_nd{build_gather};
constexpr KernelRow rows::scatter{build_scatter, few_updates};
constexpr KernelRow rows::scatter_add{build_scatter, few_updates};
constexpr KernelRow rows::scatter_nd{build_scatter, few_updates};

}  // namespace cleave::runtime::cuda
