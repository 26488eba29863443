// FourierPlan: the transform of one length, of several lines side by side at once. Stockham's passes: no reordering, and the innermost loop
// runs over the lines and what passes have already joined, so that compilers vectorise it. Lengths with a large prime factor go by way of a
// convolution (Bluestein). Knows neither axes nor operations.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace cleave::runtime::host {

/// Real and imaginary parts apart: element j of line l at `j * lines + l`.
template <class T>
struct SplitLines {
  T *re = nullptr, *im = nullptr;
};

template <class T>
class FourierPlan {
 public:
  explicit FourierPlan(std::int64_t n);
  FourierPlan(FourierPlan&&) noexcept;
  FourierPlan& operator=(FourierPlan&&) noexcept;
  ~FourierPlan();

  [[nodiscard]] std::int64_t length() const { return n_; }
  /// Elements of working memory a line, beside the line itself.
  [[nodiscard]] std::int64_t scratch() const;
  /// Forward, in place and not scaled. Backward is forward with `re` and `im` exchanged.
  void run(SplitLines<T> x, std::int64_t lines, T* scratch) const;

 private:
  struct Pass {
    std::int64_t radix = 1, rest = 1;  ///< what this pass leaves of the length
    std::vector<T> re, im;             ///< exp(-2 pi i p k / (radix rest)) at p * radix + k
  };
  struct Convolution;

  std::int64_t n_ = 1;
  std::vector<Pass> passes_;
  std::unique_ptr<Convolution> convolution_;
};

}  // namespace cleave::runtime::host
