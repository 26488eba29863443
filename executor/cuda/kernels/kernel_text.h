// KernelText: a builder for the text of one kernel: constants, index arithmetic, grid-stride loops. All kernel families share it; it knows
// no op.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "executor/cuda/kernel_source.h"
#include "graph/ops/strided.h"

namespace cleave::runtime::cuda {

/// The strides of several operands over one index space.
struct Walk {
  std::vector<std::int64_t> extents;  ///< outermost first; none: one element
  std::vector<ops::Strides> strides;  ///< [operand][axis], in elements
  [[nodiscard]] std::int64_t count() const;
};
/// The most threads that a loop is spread over: as many as the GPU holds at once.
std::int64_t most_threads(const Architecture& architecture);
/// Axes of extent 1 are dropped, and neighboring axes that are contiguous in every operand are merged.
Walk make_walk(const Shape& shape, std::span<const ops::Strides> strides);

/// True if an operand or an intermediate value has too many elements for 32-bit indices.
bool needs_wide_indices(const KernelRequest& request, const Architecture& architecture);

/// The element type's name in device code.
inline std::string name_of(DType type) {
  return std::string(to_string(type));
}
/// The expression `element`, an index, as i64. u64 values beyond i64 become its maximum, so that they stay out of range.
inline std::string index_element(const std::string& element, DType type) {
  if (type != DType::u64) return "(i64)" + element;
  return "(i64)(" + element + " >> 63 ? 0x7fffffffffffffffULL : " + element + ")";
}
std::string literal(std::int64_t value);
std::string literal(double value);  ///< exact; infinities and NaN too
/// The embedded device code with this name, such as "elements".
std::string_view device_text(std::string_view name);

class KernelText {
 public:
  /// The kernel's type `Index` is i32, or i64 if `wide`.
  KernelText(std::string entry, bool wide) : wide_(wide) { launch.entry = std::move(entry); }

  KernelLaunch launch;

  /// An i64 expression for `value`: a constant of the launch while there is room, else a literal.
  std::string constant(std::int64_t value);
  /// The same of type Index.
  std::string index(std::int64_t value) { return "(Index)" + constant(value); }
  /// An expression for `dividend` (an Index, not negative) divided by `divisor` > 0.
  std::string quotient(const std::string& dividend, std::int64_t divisor);

  KernelText& operator<<(std::string_view text) {
    body_ += text;
    return *this;
  }
  /// Declares `at0`, `at1`, … (or another `name`): the offset of each operand of `walk` at the row-major index `i` (a name or a number).
  void locate(const Walk& walk, const std::string& i, const std::string& name = "at");
  /// Sets launch bounds: the most threads of a block, and the blocks that must fit on a multiprocessor (0: the compiler decides).
  void bound(std::int64_t threads, std::int64_t blocks = 0) {
    bounds_ = "__launch_bounds__(" + std::to_string(threads) + (blocks == 0 ? "" : ", " + std::to_string(blocks)) + ") ";
  }
  /// Opens the loop `for (Index i = …)` that spreads `count` indices, `step` apart, over the threads; sets grid and block.
  /// `many_registers`: for bodies that need more registers than the compiler gives a thread by default, such as functions of f64.
  void begin_loop(std::int64_t count, const Architecture& architecture, int step = 1, bool many_registers = false);
  /// The same as two loops: an iteration of the first takes `groups` indices, `apart` from each other, from `i` on; the second takes the
  /// rest.
  void begin_groups(std::int64_t count, const Architecture& architecture, int step, int groups);
  void begin_rest_of_groups(std::int64_t count);
  void end_loop() { body_ += "  }\n"; }

  /// The whole kernel: parameters x0, x1, … (inputs), y0, … (results), `scratch` (bytes), `fault` and `ticket`, and its constants.
  [[nodiscard]] std::string text(const KernelRequest& request, bool scratch, bool fault) const;

 private:
  std::string spread(std::int64_t count, const Architecture& architecture, int step);

  bool wide_ = false;
  std::string bounds_, body_;
};

/// A source of `device_code` (in addition to "elements") followed by the kernels, which are launched in order.
KernelSource assemble(const KernelRequest& request, std::string_view device_code, std::span<const KernelText> kernels,
                      std::int64_t scratch_bytes = 0, std::string fault = {});
inline KernelSource assemble(const KernelRequest& request, const KernelText& kernel, std::string_view device_code = {}) {
  return assemble(request, device_code, std::span(&kernel, 1));
}

}  // namespace cleave::runtime::cuda
