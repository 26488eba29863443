// ConvolutionEngine: convolutions of one shape, as matrix products whose right operand is packed from the planes of the input panel by
// panel, or, of few outputs a group (depthwise), as sums of lines that slide. Decides from the shape alone how work is cut into pieces, so
// results are equal to the bit for every number of threads. Memory is taken at the first run.
#pragma once

#include <vector>

#include "executor/device/workers.h"
#include "executor/host/convolution/code.h"
#include "executor/host/convolution/planes.h"
#include "executor/host/fused.h"
#include "executor/host/matmul/code.h"
#include "executor/host/scratch.h"
#include "graph/ops/convolution.h"

namespace cleave::runtime::host {

template <class T>
class ConvolutionEngine {
 public:
  /// What is done to elements of y that are ready, from any thread; without a kernel: nothing.
  struct After {
    PartKernel* kernel = nullptr;
    const KernelCall* call = nullptr;
    void run(std::int64_t begin, std::int64_t end) const { kernel->run_part(*call, begin, end); }
  };

  explicit ConvolutionEngine(const ops::Convolution& conv);
  /// `bias`: a number an output, or null.
  void run(Workers& workers, const T* x, const T* weight, const T* bias, T* y, const After& after);

 private:
  struct Arrays {
    const T *x, *weight, *bias;
    T* y;
    const After& after;
  };
  /// Some images and one group of channels.
  struct Part {
    std::int64_t image = 0, images = 1, group = 0;
  };
  void cut();
  void slide(Workers& workers, const Arrays& arrays);
  void slide_group(const Arrays& arrays, const Part& part, T* room) const;
  void multiply(Workers& workers, const Arrays& arrays, const Part& part, T* planes, T* panels);
  void pack(const T* planes, std::int64_t strip, std::int64_t columns, std::int64_t block, std::int64_t inner, T* panels) const;
  void tile(const Arrays& arrays, const Part& part, const T* panels, std::int64_t strip, std::int64_t columns, std::int64_t row,
            std::int64_t block);
  void finish(Workers& workers, const Arrays& arrays, const Part& part, std::int64_t strip, std::int64_t columns) const;
  [[nodiscard]] std::int64_t output(const Part& part, std::int64_t image, std::int64_t row) const;
  [[nodiscard]] std::int64_t across(std::int64_t columns) const;

  const ops::Convolution conv_;
  const ConvolutionCode<T>& code_;
  const ProductCode<T>& product_;
  const Planes planes_;
  std::vector<std::int64_t> offsets_;  ///< by line of the product's right operand, in the planes of a group
  bool slides_ = false;
  bool apart_ = false;       ///< each image of a group is one piece
  std::int64_t images_ = 1;  ///< at once
  std::int64_t row_block_ = 1, column_block_ = 1, strip_ = 1;
  std::int64_t plane_room_ = 0, panel_room_ = 0, tile_room_ = 0, slide_room_ = 0;
  Scratch<T> tiles_, rooms_;
};

extern template class ConvolutionEngine<float>;
extern template class ConvolutionEngine<double>;

}  // namespace cleave::runtime::host
