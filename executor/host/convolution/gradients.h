// Engines of the gradients of convolutions of one shape. That by the input is a convolution with turned weights where the strides are one,
// else a product whose columns are added to the windows; that by the weights is, for each tap, a product with the channels as they lie in
// their planes, else one with the gathered windows. Work is divided by the shape alone, so results are bit for bit equal for every number
// of threads. Memory is allocated at the first run.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "executor/device/workers.h"
#include "executor/host/convolution/engine.h"
#include "executor/host/convolution/planes.h"
#include "executor/host/matmul/product.h"
#include "executor/host/scratch.h"
#include "graph/ops/convolution.h"

namespace cleave::runtime::host {

/// Memory for elements that are written before they are read. It is not filled with zeros: that would take long, without a look at the
/// stop sign.
template <class T>
class UnwrittenRoom {
 public:
  void reserve(std::int64_t elements) {
    if (elements <= size_) return;
    memory_ = std::make_unique_for_overwrite<T[]>(static_cast<std::size_t>(elements));
    size_ = elements;
  }
  [[nodiscard]] T* data() { return memory_.get(); }
  [[nodiscard]] const T* data() const { return memory_.get(); }

 private:
  std::unique_ptr<T[]> memory_;
  std::int64_t size_ = 0;
};

/// Computes x from the gradient of the result, `g`, and the weights.
template <class T>
class InputGradient {
 public:
  explicit InputGradient(const ops::Convolution& conv);
  void run(Workers& workers, const T* g, const T* weight, T* x);

 private:
  void turn(Workers& workers, const T* weight);
  void add_columns(Workers& workers, std::int64_t image, std::int64_t images, std::int64_t group, T* x) const;

  const ops::Convolution conv_;
  std::optional<ConvolutionEngine<T>> turned_;   ///< the convolution of g that gives x
  std::int64_t images_ = 1;                      ///< processed together, if there is none
  std::map<std::int64_t, Product<T>> products_;  ///< by images
  UnwrittenRoom<T> room_;                        ///< turned weights, or columns
};

/// Computes the weights' gradient from x and `g`.
template <class T>
class WeightGradient {
 public:
  explicit WeightGradient(const ops::Convolution& conv);
  void run(Workers& workers, const T* x, const T* g, T* weight);

 private:
  /// A range of images, a group, and a range of its channels.
  struct Part {
    std::int64_t image = 0, images = 1, group = 0, channel = 0, channels = 1;
  };
  /// Some lines of windows from the first one on, and the part of a plane from their first tap 0 to their last one.
  struct Stretch {
    std::int64_t window = 0, lines = 0;
    std::int64_t place = 0, length = 0;
  };
  void cut_stretches();
  [[nodiscard]] bool all_finite(Workers& workers, const T* x) const;
  void by_taps(Workers& workers, const T* x, const T* g, T* weight);
  void pack(Workers& workers, const Part& part, const T* g);
  void add_tap(const Part& part, const T* x, std::int64_t tap, bool add);
  void gather(Workers& workers, const Part& part, const T* x, const T* end);
  const T* results(Workers& workers, const Part& part, const T* g);
  void multiply(Workers& workers, const Part& part, const T* g, T* weight);

  const ops::Convolution conv_;
  const ConvolutionCode<T>& code_;
  const Planes planes_;
  std::int64_t images_ = 1, channels_ = 1;                                ///< processed together
  std::map<std::pair<std::int64_t, std::int64_t>, Product<T>> products_;  ///< by images and channels
  UnwrittenRoom<T> columns_, results_, sums_;
  Scratch<T> plane_rooms_;

  // For the product of each tap with the stretches of windows that it meets.
  const ProductCode<T>& product_;
  std::vector<Stretch> stretches_;         ///< none: the windows are gathered
  std::int64_t longest_ = 0, packed_ = 0;  ///< elements of the longest stretch; elements of an image's packed gradients
  std::int64_t together_ = 1;              ///< images processed together
};

extern template class InputGradient<float>;
extern template class InputGradient<double>;
extern template class WeightGradient<float>;
extern template class WeightGradient<double>;

}  // namespace cleave::runtime::host
