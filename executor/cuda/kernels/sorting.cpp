// sort, argsort, top_k and unique: a stable radix sort (radix.h) of keys that have the order of the elements, together with the elements'
// positions; results are read from the operand by position. NaN is greater than every number, and equal elements keep their order.
#include "executor/cuda/kernels/kernel_text.h"
#include "executor/cuda/kernels/kernels.h"
#include "executor/cuda/kernels/lines.h"
#include "executor/cuda/kernels/pieces.h"
#include "executor/cuda/kernels/radix.h"
#include "graph/ops/rules.h"

namespace cleave::runtime::cuda {
namespace {

/// The width in bits of a type's keys; 16-bit floats are compared as f32.
int key_bits(DType dtype) {
  if (is_floating(dtype)) return dtype == DType::f64 ? 64 : 32;
  return dtype == DType::boolean ? 1 : static_cast<int>(8 * size_of(dtype));
}

/// The kernels that sort the lines along an axis.
class Ordering {
 public:
  Ordering(const KernelRequest& request, const Architecture& architecture, const Lines& lines, bool descending)
      : request_(request),
        architecture_(architecture),
        lines_(lines),
        descending_(descending),
        wide_(needs_wide_indices(request, architecture)),
        sort_(lines.count(), lines.length, key_bits(request.input_types[0].dtype), wide_) {}

  [[nodiscard]] const RadixSort& sort() const { return sort_; }
  [[nodiscard]] bool wide() const { return wide_; }

  /// The kernel that writes keys and positions line by line; in the operand the lines may be interleaved.
  [[nodiscard]] KernelText write_keys() const {
    const DType dtype = request_.input_types[0].dtype;
    const std::string key(sort_.key_type()), type = name_of(dtype);
    const int bits = key_bits(dtype);
    const std::string all = bits == 64 ? "~(u64)0" : bits == 32 ? "0xffffffffu" : std::to_string((1 << bits) - 1) + "u";
    KernelText kernel("write_keys", wide_);
    sort_.declare_unsorted(kernel);
    kernel.begin_loop(lines_.count() * lines_.length, architecture_);
    declare_element(kernel);
    kernel << "    const " << key << " key = KeyOf<" << type << ", " << key << ", " << (is_floating(dtype) ? "true" : "false")
           << ">::of(x0[base + place" << step(kernel) << "]);\n    keys[i] = " << (descending_ ? "key ^ " + all : "key")
           << ";\n    numbers[i] = (u32)place;\n";
    kernel.end_loop();
    return kernel;
  }

  /// Declares `line` and `place` of the sorted element `i`, and `base`, the offset of its line in the operand.
  void declare_element(KernelText& kernel) const {
    const std::string front = kernel.quotient("line", lines_.behind);
    kernel << "    const Index line = " << kernel.quotient("i", lines_.length) << ", place = i - line * " << kernel.index(lines_.length)
           << ";\n    const Index base = " << front << " * " << kernel.index(lines_.length * lines_.behind);
    if (lines_.behind > 1) kernel << " + line - " << front << " * " << kernel.index(lines_.behind);
    kernel << ";\n";
  }
  [[nodiscard]] std::string step(KernelText& kernel) const { return lines_.behind > 1 ? " * " + kernel.index(lines_.behind) : ""; }

 private:
  const KernelRequest& request_;
  const Architecture& architecture_;
  const Lines lines_;
  const bool descending_, wide_;
  const RadixSort sort_;
};

template <bool gives_indices>
KernelSource build_sorting(const KernelRequest& request, const Architecture& architecture) {
  const TensorType& x = request.input_types[0];
  if (x.elements() == 0) return {};
  const Lines lines = lines_along(x, *ops::find_axis(request.attributes->get_or<std::int64_t>("axis", -1), x.rank()));
  const Ordering ordering(request, architecture, lines, request.attributes->get_or("descending", false));
  KernelText read("read_order", ordering.wide());
  ordering.sort().declare_sorted(read);
  read.begin_loop(x.elements(), architecture);
  ordering.declare_element(read);
  read << "    y0[base + place" << ordering.step(read)
       << "] = " << (gives_indices ? std::string("(i32)numbers[i]") : "x0[base + (Index)numbers[i]" + ordering.step(read) + "]") << ";\n";
  read.end_loop();
  return ordering.sort().assemble_around(request, {ordering.write_keys()}, {std::move(read)});
}

KernelSource build_top_k(const KernelRequest& request, const Architecture& architecture) {
  const TensorType &x = request.input_types[0], &result = request.result_types[0];
  if (result.elements() == 0) return {};
  const Lines lines = lines_along(x, x.rank() - 1);
  const Ordering ordering(request, architecture, lines, true);
  KernelText read("read_largest", ordering.wide());
  ordering.sort().declare_sorted(read);
  read.begin_loop(result.elements(), architecture);
  const std::int64_t k = result.shape.back();
  read << "    const Index line = " << read.quotient("i", k) << ", base = line * " << read.index(lines.length) << ", place = i - line * "
       << read.index(k)
       << ";\n    const u32 number = numbers[base + place];\n    y0[i] = x0[base + (Index)number];\n    y1[i] = (i32)number;\n";
  read.end_loop();
  return ordering.sort().assemble_around(request, {ordering.write_keys()}, {std::move(read)});
}

// --- unique ------------------------------------------------------------------------------------------------------------------------------

constexpr std::int64_t kBlock = 256;

/// The condition that the sorted element `i` is the first of equal elements; each NaN counts as first.
std::string is_first(DType dtype) {
  const std::string nan = dtype == DType::f64 ? " || keys[i] == ~(u64)0" : is_floating(dtype) ? " || keys[i] == 0xffffffffu" : "";
  return "(i == 0 || keys[i] != keys[i - 1]" + nan + ")";
}

KernelSource build_unique(const KernelRequest& request, const Architecture& architecture) {
  const TensorType& x = request.input_types[0];
  const std::int64_t count = x.elements(), blocks = (count + kBlock - 1) / kBlock;
  if (count == 0) {  // the number of unique elements is a result all the same: 0
    KernelText none("no_elements", false);
    none << "  y1[0] = 0;\n";
    return assemble(request, none);
  }
  const Ordering ordering(request, architecture, {1, count, 1}, false);
  const RadixSort& sort = ordering.sort();
  const std::int64_t fronts = sort.scratch_bytes();
  const auto begin = [&](const char* entry) {
    KernelText kernel(entry, ordering.wide());
    sort.declare_sorted(kernel);
    kernel << "  u32* const fronts = (u32*)(scratch + " << kernel.constant(fronts) << ");\n  __shared__ u64 room[" << std::to_string(kBlock)
           << "];\n  const Index i = (Index)blockIdx.x * " << std::to_string(kBlock) << " + (Index)threadIdx.x;\n  const bool there = i < "
           << kernel.index(count) << ";\n  const u32 first = there && " << is_first(x.dtype)
           << " ? 1 : 0;\n  u32 total;\n  const u32 front = sum_in_front<" << std::to_string(kBlock)
           << ">(first, (int)threadIdx.x, room, total);\n";
    kernel.launch.block = {static_cast<unsigned>(kBlock), 1, 1};
    kernel.launch.grid = {static_cast<unsigned>(blocks), 1, 1};
    return kernel;
  };
  KernelText counting = begin("count_distinct");
  counting << "  if (threadIdx.x == 0) fronts[blockIdx.x] = total;\n";
  KernelText writing = begin("write_distinct");
  writing << "  const u32 at = fronts[blockIdx.x] + front;\n  if (first) y0[at] = x0[numbers[i]];\n  if (i == " << writing.index(count - 1)
          << ") y1[0] = (i32)(at + first);\n";
  KernelText filling("fill_rest", ordering.wide());
  filling << "  const Index distinct = (Index)y1[0];\n";
  filling.begin_loop(count, architecture);
  filling << "    if (i >= distinct) y0[i] = y0[distinct - 1];\n";
  filling.end_loop();
  return sort.assemble_around(
      request, {ordering.write_keys()},
      {std::move(counting), sum_fronts("sum_distinct", 1, blocks, fronts, ordering.wide()), std::move(writing), std::move(filling)},
      blocks * 4);
}

}  // namespace

constexpr KernelRow rows::argsort{build_sorting<true>};
constexpr KernelRow rows::sort{build_sorting<false>};
constexpr KernelRow rows::top_k{build_top_k};
constexpr KernelRow rows::unique{build_unique};

}  // namespace cleave::runtime::cuda
