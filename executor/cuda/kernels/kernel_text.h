// KernelText: puts the text of one kernel together: constants, index arithmetic, loops over a grid. What all families of kernels share;
// knows no op.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "executor/cuda/kernel_source.h"
#include "graph/ops/strided.h"

namespace cleave::runtime::cuda {

/// How operands are walked through one space of indices.
struct Walk {
  std::vector<std::int64_t> extents;  ///< outermost first; none: one element
  std::vector<ops::Strides> strides;  ///< [operand][axis], in elements
  [[nodiscard]] std::int64_t count() const;
};
/// How many threads go through a loop at once, at most: as many as a machine holds.
std::int64_t most_threads(const Architecture& architecture);
/// Axes of extent 1 are dropped, neighbours that every operand walks as one are merged.
Walk make_walk(const Shape& shape, std::span<const ops::Strides> strides);

/// Whether some operand, or what is computed in between, is too large for 32-bit indices.
bool needs_wide_indices(const KernelRequest& request, const Architecture& architecture);

/// The element type's name in device code.
inline std::string name_of(DType type) {
  return std::string(to_string(type));
}
/// The index `element` (an expression), of type i64: of u64, what is too large is too large here too.
inline std::string index_element(const std::string& element, DType type) {
  if (type != DType::u64) return "(i64)" + element;
  return "(i64)(" + element + " >> 63 ? 0x7fffffffffffffffULL : " + element + ")";
}
std::string literal(std::int64_t value);
std::string literal(double value);  ///< exact; infinities and NaN too
/// A file of device code that was compiled in ("elements").
std::string_view device_text(std::string_view name);

class KernelText {
 public:
  /// In the text, `Index` is the type of indices: i32, or i64 if `wide`.
  KernelText(std::string entry, bool wide) : wide_(wide) { launch.entry = std::move(entry); }

  KernelLaunch launch;

  /// An expression for `value` of type i64: a constant of the launch while there is room, else a literal.
  std::string constant(std::int64_t value);
  /// … of type Index.
  std::string index(std::int64_t value) { return "(Index)" + constant(value); }
  /// An expression for `dividend` (an Index, not negative) divided by `divisor` > 0.
  std::string quotient(const std::string& dividend, std::int64_t divisor);

  KernelText& operator<<(std::string_view text) {
    body_ += text;
    return *this;
  }
  /// Declares `at0`, `at1`, … (or another `name`): where each operand of `walk` is at the row-major index `i` (a name or a number).
  void locate(const Walk& walk, const std::string& i, const std::string& name = "at");
  /// Tells the compiler how many threads a block has at most, and how many blocks are to fit on a multiprocessor (0: as it will).
  void bound(std::int64_t threads, std::int64_t blocks = 0) {
    bounds_ = "__launch_bounds__(" + std::to_string(threads) + (blocks == 0 ? "" : ", " + std::to_string(blocks)) + ") ";
  }
  /// Opens the loop `for (Index i = …)` in which each of `count` indices, `step` apart, is one thread's; sets grid and block.
  /// `many_registers`: for bodies that need more than the compiler gives a thread when it is left to itself, as functions of f64 do.
  void begin_loop(std::int64_t count, const Architecture& architecture, int step = 1, bool many_registers = false);
  /// The same in two loops, of which the first takes `groups` indices a trip, `apart` from each other, from `i` on; the second is for what
  /// is left over.
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

/// `device_code` (beside "elements") and the kernels behind it, and their launches in order.
KernelSource assemble(const KernelRequest& request, std::string_view device_code, std::span<const KernelText> kernels,
                      std::int64_t scratch_bytes = 0, std::string fault = {});
inline KernelSource assemble(const KernelRequest& request, const KernelText& kernel, std::string_view device_code = {}) {
  return assemble(request, device_code, std::span(&kernel, 1));
}

}  // namespace cleave::runtime::cuda
