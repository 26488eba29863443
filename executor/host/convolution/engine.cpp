#include "executor/host/convolution/engine.h"

#include <algorithm>
#include <array>

namespace cleave::runtime::host {
namespace {

// Measured on Zen 4, as those of matmul/product.cpp.
constexpr std::int64_t kInnerBlock = 512;                                          ///< lines of packed panels that are multiplied at a time
constexpr std::int64_t kPanels = 48;                                               ///< columns: whole panels of every code
constexpr std::int64_t kRowBlock = 96, kColumnBlock = 11 * kPanels;                ///< of a piece, at most
constexpr std::int64_t kStripBytes = 2 << 20;                                      ///< of panels that are packed before they are multiplied
constexpr std::int64_t kEnoughColumns = 8 * kPanels;                               ///< images are taken together until there are as many
constexpr std::int64_t kLeastPiece = 1 << 18, kMostPiece = 1 << 22, kPieces = 64;  ///< multiplications
constexpr std::int64_t kAfterPiece = 16 << 10;                                     ///< elements
constexpr std::int64_t kFewOutputs = 3;                                            ///< of a group, that are not worth panels

constexpr std::int64_t ceil_div(std::int64_t x, std::int64_t y) {
  return (x + y - 1) / y;
}
constexpr std::int64_t round_up(std::int64_t x, std::int64_t to) {
  return ceil_div(x, to) * to;
}

}  // namespace

template <class T>
ConvolutionEngine<T>::ConvolutionEngine(const ops::Convolution& conv)
    : conv_(conv), code_(convolution_code<T>()), product_(product_code<T>()), planes_(conv.window) {
  for (std::int64_t c = 0; c < conv.channels; ++c) {
    for (const std::int64_t tap : planes_.taps()) offsets_.push_back(c * planes_.size() + tap);
  }
  cut();
}

template <class T>
void ConvolutionEngine<T>::cut() {
  const std::int64_t outs = std::max<std::int64_t>(1, conv_.window.outs()), depth = std::max<std::int64_t>(1, conv_.depth());
  const std::int64_t channels = conv_.channels * planes_.size();
  slides_ = conv_.outputs <= kFewOutputs;
  if (slides_) {
    // Lines of results with what stands between them, and planes.
    slide_room_ = (planes_.as_it_lies() ? 0 : channels + code_.width) + round_up(planes_.place(outs - 1) + 1, code_.width) + code_.width;
    return;
  }
  const double work = static_cast<double>(conv_.outputs) * static_cast<double>(outs) * static_cast<double>(depth);
  apart_ = conv_.groups > 1 && (work < kMostPiece || conv_.groups * conv_.batch >= 2 * kPieces / 8);
  images_ = apart_ ? 1 : std::clamp<std::int64_t>(kEnoughColumns / outs, 1, std::max<std::int64_t>(1, conv_.batch));
  const std::int64_t columns = images_ * outs;
  const std::int64_t strips = ceil_div(columns * depth * static_cast<std::int64_t>(sizeof(T)), kStripBytes);
  strip_ = std::max(kPanels, round_up(ceil_div(columns, strips), kPanels));
  const double each = work * static_cast<double>(images_) / kPieces;
  const std::int64_t elements =
      std::clamp(static_cast<std::int64_t>(std::min(each, 1e15)), kLeastPiece, kMostPiece) / std::min(depth, kInnerBlock);
  row_block_ = std::clamp(round_up(elements / kPanels, product_.rows), product_.rows, kRowBlock);
  row_block_ = round_up(ceil_div(conv_.outputs, ceil_div(conv_.outputs, row_block_)), product_.rows);
  column_block_ = std::min(std::clamp(round_up(elements / row_block_, kPanels), kPanels, kColumnBlock), strip_);
  plane_room_ = planes_.as_it_lies() ? 0 : round_up(images_ * channels + code_.width, 16);
  // The last block takes a rest of one register with it.
  panel_room_ = (packed_columns(std::min(columns, strip_), product_.width) + product_.width) * depth + code_.width;
  tile_room_ = row_block_ * (column_block_ + product_.width) + code_.width;
}

template <class T>
void ConvolutionEngine<T>::run(Workers& workers, const T* x, const T* weight, const T* bias, T* y, const After& after) {
  if (conv_.batch == 0 || conv_.window.outs() == 0 || conv_.outputs == 0) return;
  const Arrays arrays{x, weight, bias, y, after};
  if (slides_) return slide(workers, arrays);
  tiles_.reserve(workers.threads(), tile_room_);
  rooms_.reserve(apart_ ? workers.threads() : 1, plane_room_ + panel_room_);
  if (apart_) {
    workers.each(conv_.batch * conv_.groups, [&](std::int64_t piece) {
      const typename Scratch<T>::Part room(rooms_);
      multiply(Workers::none(), arrays, {piece / conv_.groups, 1, piece % conv_.groups}, room.data(), room.data() + plane_room_);
    });
    return;
  }
  const typename Scratch<T>::Part room(rooms_);
  for (std::int64_t image = 0; image < conv_.batch; image += images_) {
    for (std::int64_t group = 0; group < conv_.groups; ++group)
      multiply(workers, arrays, {image, std::min(images_, conv_.batch - image), group}, room.data(), room.data() + plane_room_);
  }
}

/// Where a row of y begins: an output of the part's group in an image of the part.
template <class T>
std::int64_t ConvolutionEngine<T>::output(const Part& part, std::int64_t image, std::int64_t row) const {
  return (((part.image + image) * conv_.groups + part.group) * conv_.outputs + row) * conv_.window.outs();
}

// --- sums of lines that slide ------------------------------------------------------------------------------------------------------------

template <class T>
void ConvolutionEngine<T>::slide(Workers& workers, const Arrays& arrays) {
  rooms_.reserve(workers.threads(), slide_room_);
  const std::int64_t work =
      planes_.size() * conv_.channels + conv_.window.outs() * conv_.outputs * std::max<std::int64_t>(1, conv_.depth());
  workers.each_part(conv_.batch * conv_.groups, std::max<std::int64_t>(1, kLeastPiece / work), [&](std::int64_t begin, std::int64_t end) {
    const typename Scratch<T>::Part room(rooms_);
    for (std::int64_t i = begin; i < end; ++i) slide_group(arrays, {i / conv_.groups, 1, i % conv_.groups}, room.data());
    const std::int64_t size = conv_.outputs * conv_.window.outs();
    if (arrays.after.kernel) arrays.after.run(begin * size, end * size);
  });
}

template <class T>
void ConvolutionEngine<T>::slide_group(const Arrays& arrays, const Part& part, T* room) const {
  const std::int64_t outs = conv_.window.outs(), line = conv_.window[2].out, depth = conv_.depth();
  const T* channels = arrays.x + (part.image * conv_.groups + part.group) * conv_.channels * conv_.window.ins();
  const T* planes = channels;
  T* sums = room;
  if (!planes_.as_it_lies()) {
    for (std::int64_t c = 0; c < conv_.channels; ++c)
      planes_.fill(code_, channels + c * conv_.window.ins(), T(0), room + c * planes_.size());
    planes = room;
    sums += conv_.channels * planes_.size() + code_.width;
  }
  const std::int64_t count = planes_.place(outs - 1) + 1, lines = conv_.window[1].out;
  const bool whole = count == outs;
  // Planes of our own have something behind them that may be read.
  const std::int64_t taken = planes_.as_it_lies() || whole ? count : round_up(count, code_.width);
  for (std::int64_t row = 0; row < conv_.outputs; ++row) {
    const std::int64_t output = part.group * conv_.outputs + row;
    T* y = arrays.y + this->output(part, 0, row);
    code_.slide(taken, depth, planes, offsets_.data(), arrays.weight + output * depth, arrays.bias ? arrays.bias[output] : T(0),
                whole ? y : sums);
    for (std::int64_t p = 0; !whole && p < outs; p += lines * line)
      code_.gather(lines, line, sums + planes_.place(p), planes_.line_stride(), y + p);
  }
}

// --- products ----------------------------------------------------------------------------------------------------------------------------

/// Blocks that so many columns are cut into. The last one takes a rest of one register with it.
template <class T>
std::int64_t ConvolutionEngine<T>::across(std::int64_t columns) const {
  return ceil_div(std::max<std::int64_t>(1, columns - product_.width), column_block_);
}

template <class T>
void ConvolutionEngine<T>::multiply(Workers& workers, const Arrays& arrays, const Part& part, T* planes, T* panels) {
  const std::int64_t depth = conv_.depth(), ins = conv_.window.ins();
  const T* from = arrays.x + (part.image * conv_.groups + part.group) * conv_.channels * ins;
  if (!planes_.as_it_lies()) {
    workers.each_part(
        part.images * conv_.channels, std::max<std::int64_t>(1, kAfterPiece / planes_.size()), [&](std::int64_t i, std::int64_t end) {
          for (; i < end; ++i) {
            const std::int64_t image = i / conv_.channels, channel = i % conv_.channels;
            planes_.fill(code_, from + (image * conv_.groups * conv_.channels + channel) * ins, T(0), planes + i * planes_.size());
          }
        });
    from = planes;
  }
  const std::int64_t columns = part.images * conv_.window.outs();
  for (std::int64_t strip = 0; strip < columns; strip += strip_) {
    const std::int64_t width = std::min(strip_, columns - strip), blocks = across(width), deep = ceil_div(depth, kInnerBlock);
    workers.each(blocks * deep,
                 [&](std::int64_t piece) { pack(from, strip, width, piece % blocks, piece / blocks * kInnerBlock, panels); });
    const std::int64_t down = ceil_div(conv_.outputs, row_block_);
    workers.each(down * blocks,
                 [&](std::int64_t piece) { tile(arrays, part, panels, strip, width, piece % down * row_block_, piece / down); });
    if (arrays.after.kernel) finish(workers, arrays, part, strip, width);
  }
}

/// The panels of a block of a strip, for some lines.
template <class T>
void ConvolutionEngine<T>::pack(const T* planes, std::int64_t strip, std::int64_t columns, std::int64_t block, std::int64_t inner,
                                T* panels) const {
  const std::int64_t outs = conv_.window.outs(), lines = std::min(kInnerBlock, conv_.depth() - inner);
  const std::int64_t image_stride = (planes_.as_it_lies() ? conv_.groups : 1) * conv_.channels * planes_.size();
  const std::int64_t first = block * column_block_, end = block + 1 == across(columns) ? columns : first + column_block_;
  T* to = panels + inner * packed_columns(columns, product_.width) + first * lines;
  for (std::int64_t column = first; column < end;) {
    const std::int64_t width = panel_width(end - column, product_.width), count = std::min(width, end - column);
    std::array<PanelRun, kPanels> runs;
    std::size_t used = 0;
    for (std::int64_t done = 0; done < count;) {
      const std::int64_t at = strip + column + done, window = at % outs, size = std::min(planes_.run(window), count - done);
      runs[used++] = {at / outs * image_stride + planes_.place(window), done, size};
      done += size;
    }
    if (count < width) std::fill(to, to + lines * width, T(0));
    code_.pack({lines, width, planes, offsets_.data() + inner, runs.data(), static_cast<std::int64_t>(used), planes_.as_it_lies(), to});
    to += lines * width;
    column += width;
  }
}

template <class T>
void ConvolutionEngine<T>::tile(const Arrays& arrays, const Part& part, const T* panels, std::int64_t strip, std::int64_t columns,
                                std::int64_t row, std::int64_t block) {
  const std::int64_t depth = conv_.depth(), outs = conv_.window.outs(), rows = std::min(row_block_, conv_.outputs - row);
  const std::int64_t first = block * column_block_, count = (block + 1 == across(columns) ? columns : first + column_block_) - first;
  const T* weight = arrays.weight + (part.group * conv_.outputs + row) * depth;
  const typename Scratch<T>::Part room(tiles_);
  T* sums = room.data();
  if (depth == 0) std::fill(sums, sums + rows * count, T(0));
  for (std::int64_t k = 0; k < depth; k += kInnerBlock) {
    const std::int64_t inner = std::min(kInnerBlock, depth - k);
    const T* packed = panels + k * packed_columns(columns, product_.width) + first * inner;
    product_.block({rows, count, inner, {weight + k, depth, 1}, false, {packed, 0, 1}, true, {sums, count, 1}, k > 0});
  }
  for (std::int64_t r = 0; r < rows; ++r) {
    const T bias = arrays.bias ? arrays.bias[part.group * conv_.outputs + row + r] : T(0);
    for (std::int64_t done = 0; done < count;) {
      const std::int64_t at = strip + first + done, size = std::min(outs - at % outs, count - done);
      code_.shift(size, sums + r * count + done, bias, arrays.y + output(part, at / outs, row + r) + at % outs);
      done += size;
    }
  }
}

/// What is done to results, while they are still in a cache: images that the strip holds whole are neighbouring elements.
template <class T>
void ConvolutionEngine<T>::finish(Workers& workers, const Arrays& arrays, const Part& part, std::int64_t strip,
                                  std::int64_t columns) const {
  const std::int64_t outs = conv_.window.outs();
  for (std::int64_t done = 0; done < columns;) {
    const std::int64_t at = strip + done, size = std::min(outs - at % outs, columns - done);
    workers.each_part(conv_.outputs, std::max<std::int64_t>(1, kAfterPiece / size), [&](std::int64_t row, std::int64_t end) {
      if (size == outs) return arrays.after.run(output(part, at / outs, row), output(part, at / outs, end));
      for (; row < end; ++row) {
        const std::int64_t begin = output(part, at / outs, row) + at % outs;
        arrays.after.run(begin, begin + size);
      }
    });
    done += size;
  }
}

template class ConvolutionEngine<float>;
template class ConvolutionEngine<double>;

}  // namespace cleave::runtime::host
