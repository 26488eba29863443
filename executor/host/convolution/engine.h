// ConvolutionEngine: convolutions of one shape. With many outputs in a group, matrix products whose right operand is packed panel by panel
// from the planes of the input (implicit im2col); with few (depthwise), direct sums of shifted lines. Work is divided by the shape alone,
// so results are bit for bit equal for every number of threads. Memory is allocated at the first run.
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
  /// Steps applied to elements of y once they are final, on any thread; no kernel: none.
  struct After {
    PartKernel* kernel = nullptr;
    const KernelCall* call = nullptr;
    void run(std::int64_t begin, std::int64_t end) const { kernel->run_part(*call, begin, end); }
  };

  explicit ConvolutionEngine(const ops::Convolution& conv);
  /// `bias`: one number for each output, or null.
  void run(Workers& workers, const T* x, const T* weight, const T* bias, T* y, const After& after);

 private:
  struct Arrays {
    const T *x, *weight, *bias;
    T* y;
    const After& after;
  };
  /// A range of images and one group of channels.
  struct ImagesOfGroup {
    std::int64_t image = 0, images = 1, group = 0;
  };
  void cut();
  void slide(Workers& workers, const Arrays& arrays);
  [[nodiscard]] bool slides_plainly() const;
  void slide_channel(const Arrays& arrays, std::int64_t group) const;
  void slide_groups(const Arrays& arrays, std::int64_t first, std::int64_t groups, T* room) const;
  /// A range of columns of the product's right operand, and the memory for their packed form.
  struct Strip {
    std::int64_t first = 0, columns = 0, few = 0;  ///< columns in panels, and after them a few more as dot products
    const T* from = nullptr;
    T *panels = nullptr, *few_columns = nullptr;
  };
  /// A range of a strip's columns, starting at `first`, and a number of rows.
  struct Block {
    std::int64_t first = 0, columns = 0, few = 0, rows = 0;
  };
  void multiply(Workers& workers, const Arrays& arrays, const ImagesOfGroup& part, T* room);
  void multiply_alone(Workers& workers, const Arrays& arrays, const ImagesOfGroup& part, const T* from, std::int64_t columns);
  void pack(const Strip& strip, std::int64_t block, std::int64_t inner) const;
  void pack_few(const Strip& strip) const;
  void tile(const Arrays& arrays, const ImagesOfGroup& part, const Strip& strip, std::int64_t row, std::int64_t block);
  void multiply_block(const Arrays& arrays, std::int64_t row, const Strip& strip, const Block& block, const Matrix<T>& to) const;
  void finish(Workers& workers, const Arrays& arrays, const ImagesOfGroup& part, std::int64_t strip, std::int64_t columns) const;
  [[nodiscard]] const T* end_of(const T* x) const;
  [[nodiscard]] std::int64_t output(const ImagesOfGroup& part, std::int64_t image, std::int64_t row) const;
  [[nodiscard]] std::int64_t across(std::int64_t columns) const;
  [[nodiscard]] std::int64_t few_of(std::int64_t columns) const;
  [[nodiscard]] std::int64_t place(std::int64_t column) const;

  const ops::Convolution conv_;
  const ConvolutionCode<T>& code_;
  const ProductCode<T>& product_;
  const Planes planes_;
  std::vector<std::int64_t> offsets_;  ///< by line of the product's right operand: its offset in the planes of a group
  std::int64_t slides_ = 0;            ///< groups that are computed together as sums of shifted lines; 0: as matrix products
  bool plainly_ = false;               ///< sums of shifted lines by slide_channel: one channel, and a window that it supports
  bool apart_ = false;                 ///< each image of a group is one piece of the work
  bool packs_ = true;                  ///< the right operand is packed in panels; else it is read in place
  bool alone_ = false;                 ///< each thread packs the panels that it uses; else all threads pack for all
  std::int64_t images_ = 1;            ///< processed together
  std::int64_t row_block_ = 1, column_block_ = 1, strip_ = 1;
  std::int64_t plane_room_ = 0, panel_room_ = 0, few_room_ = 0, tile_room_ = 0, slide_room_ = 0;
  Scratch<T> tiles_, rooms_, alone_rooms_;
};

extern template class ConvolutionEngine<float>;
extern template class ConvolutionEngine<double>;

}  // namespace cleave::runtime::host
