// Engines of the gradients of convolutions of one shape. That by the input is a convolution with turned weights where the strides are one,
// else a product whose columns are added to the windows; that by the weights is a product with the gathered windows. Work is divided by the
// shape alone, so results are bit for bit equal for every number of threads. Memory is allocated at the first run.
#pragma once

#include <map>
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
  std::vector<T> room_;                          ///< turned weights, or columns
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
  void gather(Workers& workers, const Part& part, const T* x, const T* end);
  const T* results(Workers& workers, const Part& part, const T* g);
  void multiply(Workers& workers, const Part& part, const T* g, T* weight);

  const ops::Convolution conv_;
  const ConvolutionCode<T>& code_;
  const Planes planes_;
  std::int64_t images_ = 1, channels_ = 1;                                ///< processed together
  std::map<std::pair<std::int64_t, std::int64_t>, Product<T>> products_;  ///< by images and channels
  std::vector<T> columns_, results_, sums_;
  Scratch<T> plane_rooms_;
};

extern template class InputGradient<float>;
extern template class InputGradient<double>;
extern template class WeightGradient<float>;
extern template class WeightGradient<double>;

}  // namespace cleave::runtime::host
