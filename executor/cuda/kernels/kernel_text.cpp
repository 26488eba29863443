#include "executor/cuda/kernels/kernel_text.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>

#include "executor/cuda/kernels/device_texts.h"

namespace cleave::runtime::cuda {
namespace {

constexpr std::size_t kMostConstants = 96;
constexpr std::int64_t kBlock = 256;
constexpr std::int64_t kBlocksOnAMultiprocessor = 8;  ///< blocks of kBlock threads
constexpr std::int64_t kBlocksInGroups = 4;           ///< the same for kernels whose threads have several elements in flight

/// The parameter of the device function `divide`: a multiplier and a shift, exact for dividends below 2^31 (round-up method).
std::int64_t packed_divisor(std::int64_t divisor) {
  const auto d = static_cast<std::uint64_t>(divisor);
  const auto shift = static_cast<std::uint64_t>(std::bit_width(d - 1));
  const std::uint64_t multiplier = ((std::uint64_t{1} << 32) * ((std::uint64_t{1} << shift) - d)) / d + 1;
  return static_cast<std::int64_t>(multiplier << 32 | shift);
}

std::string times(int step) {
  return step == 1 ? "" : " * " + std::to_string(step);
}

}  // namespace

std::int64_t Walk::count() const {
  std::int64_t count = 1;
  for (const std::int64_t extent : extents) count *= extent;
  return count;
}

Walk make_walk(const Shape& shape, std::span<const ops::Strides> strides) {
  // An empty walk gets a single axis, so that no index is divided by an extent of zero.
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return {{0}, std::vector<ops::Strides>(strides.size(), ops::Strides{0})};
  Walk walk{{}, std::vector<ops::Strides>(strides.size())};
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] == 1) continue;
    bool merges = !walk.extents.empty();
    for (std::size_t k = 0; k < strides.size() && merges; ++k) merges = walk.strides[k].back() == strides[k][axis] * shape[axis];
    if (merges) {
      walk.extents.back() *= shape[axis];
    } else {
      walk.extents.push_back(shape[axis]);
    }
    for (std::size_t k = 0; k < strides.size(); ++k) {
      if (merges) walk.strides[k].pop_back();
      walk.strides[k].push_back(strides[k][axis]);
    }
  }
  return walk;
}

bool needs_wide_indices(const KernelRequest& request, const Architecture& architecture) {
  const auto large = [&](const TensorType& type) { return type.elements() > architecture.narrow_elements; };
  return std::any_of(request.input_types.begin(), request.input_types.end(), large) ||
         std::any_of(request.result_types.begin(), request.result_types.end(), large) ||
         std::any_of(request.steps.begin(), request.steps.end(), [&](const FusedStep& step) { return large(step.type); });
}

std::string literal(std::int64_t value) {
  if (value == std::numeric_limits<std::int64_t>::min()) return "(-9223372036854775807LL - 1)";
  return value < 0 ? "(" + std::to_string(value) + "LL)" : std::to_string(value) + "LL";
}

std::string literal(double value) {
  if (std::isnan(value)) return "__longlong_as_double(0x7ff8000000000000LL)";
  if (std::isinf(value)) return value > 0 ? "__longlong_as_double(0x7ff0000000000000LL)" : "(-__longlong_as_double(0x7ff0000000000000LL))";
  char text[40];  // hexadecimal: every bit
  char* end = std::to_chars(text, text + sizeof text, std::abs(value), std::chars_format::hex).ptr;
  return (std::signbit(value) ? "(-0x" : "(0x") + std::string(text, end) + ")";
}

std::string_view device_text(std::string_view name) {
  for (const EmbeddedText& text : device_texts()) {
    if (text.name == name) return text.text;
  }
  CLEAVE_CHECK(false, "device code that does not exist");
  return {};
}

std::string KernelText::constant(std::int64_t value) {
  std::vector<std::int64_t>& constants = launch.constants;
  if (constants.size() == kMostConstants) return literal(value);
  constants.push_back(value);
  return "c" + std::to_string(constants.size() - 1);
}

std::string KernelText::quotient(const std::string& dividend, std::int64_t divisor) {
  if (divisor == 1) return dividend;
  return "divide(" + dividend + ", " + constant(wide_ ? divisor : packed_divisor(divisor)) + ")";
}

void KernelText::locate(const Walk& walk, const std::string& i, const std::string& name) {
  std::vector<std::string> terms(walk.strides.size());
  std::string rest = i;
  for (std::size_t axis = walk.extents.size(); axis-- > 0;) {
    const std::string n = std::to_string(axis);
    std::string here = rest;
    if (axis > 0) {
      body_ += "    const Index rest" + n + " = " + quotient(rest, walk.extents[axis]) + ";\n";
      here = "index" + n;
      body_ += "    const Index " + here + " = " + rest + " - rest" + n + " * " + index(walk.extents[axis]) + ";\n";
      rest = "rest" + n;
    }
    for (std::size_t k = 0; k < walk.strides.size(); ++k) {
      const std::int64_t stride = walk.strides[k][axis];
      if (stride == 0) continue;
      terms[k] += (terms[k].empty() ? "" : " + ") + here + (stride == 1 ? "" : " * " + index(stride));
    }
  }
  for (std::size_t k = 0; k < terms.size(); ++k)
    body_ += "    const Index " + name + std::to_string(k) + " = " + (terms[k].empty() ? "0" : terms[k]) + ";\n";
}

std::int64_t most_threads(const Architecture& architecture) {
  return architecture.multiprocessors * kBlocksOnAMultiprocessor * kBlock;
}

/// Sets grid and block, and returns the expression for a thread's first index.
std::string KernelText::spread(std::int64_t count, const Architecture& architecture, int step) {
  const std::int64_t threads = (count + step - 1) / step, blocks = (threads + kBlock - 1) / kBlock;
  launch.block = {static_cast<unsigned>(std::min(kBlock, std::max<std::int64_t>(32, (threads + 31) / 32 * 32))), 1, 1};
  launch.grid = {static_cast<unsigned>(std::clamp<std::int64_t>(blocks, 1, architecture.multiprocessors * kBlocksOnAMultiprocessor)), 1, 1};
  launch.any_grid = true;
  bound(kBlock);
  return "((Index)blockIdx.x * (Index)blockDim.x + (Index)threadIdx.x)" + times(step);
}

void KernelText::begin_loop(std::int64_t count, const Architecture& architecture, int step, bool many_registers) {
  const std::string first = spread(count, architecture, step);
  if (many_registers) bound(kBlock, kBlocksInGroups);
  body_ += "  for (Index i = " + first + "; i < " + index(count) + "; i += (Index)gridDim.x * (Index)blockDim.x" + times(step) + ") {\n";
}

void KernelText::begin_groups(std::int64_t count, const Architecture& architecture, int step, int groups) {
  const std::string first = spread(count, architecture, step), all = std::to_string(groups), others = std::to_string(groups - 1);
  bound(kBlock, kBlocksInGroups);  // without this bound the compiler takes too few registers, to fit more blocks
  body_ += "  const Index apart = (Index)gridDim.x * (Index)blockDim.x" + times(step) + ";\n  Index i = " + first +
           ";\n  for (; i + apart * " + others + " < " + index(count) + "; i += apart * " + all + ") {\n";
}

void KernelText::begin_rest_of_groups(std::int64_t count) {
  body_ += "#pragma unroll 1\n  for (; i < " + index(count) + "; i += apart) {\n";
}

std::string KernelText::text(const KernelRequest& request, bool scratch, bool fault) const {
  std::string parameters;
  const auto add = [&](const std::string& parameter) { parameters += (parameters.empty() ? "" : ", ") + parameter; };
  for (std::size_t i = 0; i < request.input_types.size(); ++i)
    add("const " + name_of(request.input_types[i].dtype) + "* x" + std::to_string(i));
  for (std::size_t i = 0; i < request.result_types.size(); ++i) add(name_of(request.result_types[i].dtype) + "* y" + std::to_string(i));
  if (scratch) add("u8* scratch");
  if (fault) add("volatile u64* fault, u64 ticket");
  for (std::size_t i = 0; i < launch.constants.size(); ++i) add("i64 c" + std::to_string(i));
  return "\nextern \"C\" __global__ void " + bounds_ + launch.entry + "(" + parameters + ") {\n  typedef " + (wide_ ? "i64" : "i32") +
         " Index;\n" + body_ + "}\n";
}

KernelSource assemble(const KernelRequest& request, std::string_view device_code, std::span<const KernelText> kernels,
                      std::int64_t scratch_bytes, std::string fault) {
  KernelSource source;
  source.text = std::string(device_text("elements")) + std::string(device_code);
  for (const KernelText& kernel : kernels) {
    source.text += kernel.text(request, scratch_bytes > 0, !fault.empty());
    source.launches.push_back(kernel.launch);
  }
  source.scratch_bytes = scratch_bytes;
  source.fault = std::move(fault);
  return source;
}

}  // namespace cleave::runtime::cuda
