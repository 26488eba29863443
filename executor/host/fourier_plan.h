// FourierPlan: the transform of one length, for several lines side by side. Stockham's passes need no reordering, and their innermost loop
// runs over the lines and the elements already joined, so that compilers vectorise it. Lengths with a large prime factor are computed as a
// convolution (Bluestein). Independent of axes and operations.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace cleave::runtime::host {

/// Real and imaginary parts in separate arrays; element j of line l is at `j * lines + l`.
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
  /// Elements of working memory for each line, in addition to the line itself.
  [[nodiscard]] std::int64_t scratch() const;
  /// The forward transform, in place and not scaled. The backward transform is the forward one with `re` and `im` exchanged.
  void run(SplitLines<T> x, std::int64_t lines, T* scratch) const;

 private:
  struct Pass {
    std::int64_t radix = 1, rest = 1;  ///< rest: the length that remains after this pass
    std::vector<T> re, im;             ///< exp(-2 pi i p k / (radix rest)) at p * radix + k
  };
  struct Convolution;

  std::int64_t n_ = 1;
  std::vector<Pass> passes_;
  std::unique_ptr<Convolution> convolution_;
};

}  // namespace cleave::runtime::host
