#include "executor/host/convolution/engine.h"
#include "executor/host/long_copy.h"
#include "graph/base/stop.h"

#include <algorithm>
#include <array>

namespace cleave::runtime::host {
namespace {

// Measured on Zen 4, like the constants of matmul/product.cpp.
constexpr std::int64_t kInnerBlock = 512;                                          ///< lines of a panel in one inner block
constexpr std::int64_t kPanels = 48;                                               ///< columns: a multiple of every panel width
constexpr std::int64_t kRowBlock = 96, kColumnBlock = 11 * kPanels;                ///< the most rows and columns of a piece
constexpr std::int64_t kStripBytes = 2 << 20;                                      ///< bytes of panels packed before multiplication
constexpr std::int64_t kEnoughColumns = 8 * kPanels;                               ///< images are batched until they have as many columns
constexpr std::int64_t kLeastPiece = 1 << 18, kMostPiece = 1 << 22, kPieces = 64;  ///< multiplications
constexpr std::int64_t kStayBytes = 1 << 19;                                       ///< bytes of columns in a core's second-level cache
constexpr std::int64_t kAloneBytes = 1 << 18, kLeastAlone = 16;                    ///< bytes of panels one thread packs; least pieces
constexpr std::int64_t kAfterPiece = 16 << 10;                                     ///< elements
constexpr std::int64_t kSlideBytes = 16 << 10, kMostSlides = 8;                    ///< bytes of planes in first-level cache; most groups
constexpr std::int64_t kFewOutputs = 3;                                            ///< outputs for which packing panels does not pay

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
  if (conv_.outputs <= kFewOutputs) {
    plainly_ = slides_plainly();
    // Room for planes, and for result lines with the gaps between them.
    plane_room_ = planes_.as_it_lies() ? 0 : channels + code_.width;
    slide_room_ = plane_room_ + round_up(planes_.place(outs - 1) + 1, code_.width) + code_.width;
    slides_ = std::clamp<std::int64_t>(kSlideBytes / static_cast<std::int64_t>(sizeof(T)) / slide_room_, 1, kMostSlides);
    return;
  }
  const double work = static_cast<double>(conv_.outputs) * static_cast<double>(outs) * static_cast<double>(depth);
  apart_ = conv_.groups > 1 && (work < kMostPiece || conv_.groups * conv_.batch >= 2 * kPieces / 8);
  const std::int64_t batch = std::max<std::int64_t>(1, conv_.batch);
  // With no padding, stride 1, one tap and a remainder small enough for dot products, the right operand is read in place.
  packs_ = !planes_.as_it_lies() || planes_.taps().size() > 1 || few_of(outs) != outs % product_.width;
  images_ = apart_ || !packs_ ? 1 : std::min(batch, ceil_div(kEnoughColumns, outs));
  if (images_ > 1) images_ = ceil_div(batch, ceil_div(batch, images_));  // evenly
  const std::int64_t columns = images_ * outs;
  const std::int64_t panel_bytes = kPanels * depth * static_cast<std::int64_t>(sizeof(T)), panels = columns / kPanels;
  alone_ = packs_ && !apart_ && panels >= kLeastAlone && panel_bytes <= kAloneBytes;
  const std::int64_t strips = packs_ ? ceil_div(columns * depth * static_cast<std::int64_t>(sizeof(T)), kStripBytes) : 1;
  strip_ = std::max(kPanels, round_up(ceil_div(columns, strips), kPanels));
  const double each = work * static_cast<double>(images_) / kPieces;
  const std::int64_t elements =
      std::clamp(static_cast<std::int64_t>(std::min(each, 1e15)), kLeastPiece, kMostPiece) / std::min(depth, kInnerBlock);
  row_block_ = std::clamp(round_up(elements / kPanels, product_.rows), product_.rows, kRowBlock);
  row_block_ = round_up(ceil_div(conv_.outputs, ceil_div(conv_.outputs, row_block_)), product_.rows);
  column_block_ = std::min(std::clamp(round_up(elements / row_block_, kPanels), kPanels, kColumnBlock), strip_);
  if (alone_) {
    column_block_ = std::clamp<std::int64_t>(std::min(kAloneBytes / panel_bytes, panels / kLeastAlone) * kPanels, kPanels, kColumnBlock);
    strip_ = column_block_;
  }
  plane_room_ = planes_.as_it_lies() ? 0 : round_up(images_ * channels + code_.width, 16);
  // The last block includes a remainder of one register, and the few columns after it.
  panel_room_ = packs_ ? (packed_columns(std::min(columns, strip_), product_.width) + product_.width) * depth + code_.width : 0;
  few_room_ = product_.width / 4 * depth;
  tile_room_ = row_block_ * (column_block_ + 2 * product_.width) + code_.width;
}

template <class T>
void ConvolutionEngine<T>::run(Workers& workers, const T* x, const T* weight, const T* bias, T* y, const After& after) {
  if (conv_.batch == 0 || conv_.window.outs() == 0 || conv_.outputs == 0) return;
  const Arrays arrays{x, weight, bias, y, after};
  if (slides_ > 0) return slide(workers, arrays);
  tiles_.reserve(workers.threads(), tile_room_);
  rooms_.reserve(apart_ ? workers.threads() : 1, alone_ ? std::max<std::int64_t>(1, plane_room_) : plane_room_ + panel_room_ + few_room_);
  if (apart_) {
    workers.each(conv_.batch * conv_.groups, [&](std::int64_t piece) {
      const typename Scratch<T>::Part room(rooms_);
      multiply(Workers::none(), arrays, {piece / conv_.groups, 1, piece % conv_.groups}, room.data());
    });
    return;
  }
  const typename Scratch<T>::Part room(rooms_);
  for (std::int64_t image = 0; image < conv_.batch; image += images_) {
    for (std::int64_t group = 0; group < conv_.groups; ++group)
      multiply(workers, arrays, {image, std::min(images_, conv_.batch - image), group}, room.data());
  }
}

template <class T>
const T* ConvolutionEngine<T>::end_of(const T* x) const {
  return x + conv_.batch * conv_.groups * conv_.channels * conv_.window.ins();
}

/// The offset in y of a row: one output of the part's group in one image of the part.
template <class T>
std::int64_t ConvolutionEngine<T>::output(const ImagesOfGroup& part, std::int64_t image, std::int64_t row) const {
  return (((part.image + image) * conv_.groups + part.group) * conv_.outputs + row) * conv_.window.outs();
}

// --- sums of shifted lines ---------------------------------------------------------------------------------------------------------------

template <class T>
void ConvolutionEngine<T>::slide(Workers& workers, const Arrays& arrays) {
  rooms_.reserve(workers.threads(), slide_room_ * slides_);
  const std::int64_t work =
      planes_.size() * conv_.channels + conv_.window.outs() * conv_.outputs * std::max<std::int64_t>(1, conv_.depth());
  workers.each_part(conv_.batch * conv_.groups, std::max<std::int64_t>(1, kLeastPiece / work), [&](std::int64_t begin, std::int64_t end) {
    const typename Scratch<T>::Part room(rooms_);
    for (std::int64_t i = begin; plainly_ && i < end; ++i) slide_channel(arrays, i);
    for (std::int64_t i = begin; !plainly_ && i < end; i += slides_) slide_groups(arrays, i, std::min(slides_, end - i), room.data());
    const std::int64_t size = conv_.outputs * conv_.window.outs();
    if (arrays.after.kernel) arrays.after.run(begin * size, end * size);
  });
}

/// Whether ConvolutionCode::slide_channel supports these groups.
template <class T>
bool ConvolutionEngine<T>::slides_plainly() const {
  const ops::WindowAxis &outer = conv_.window[0], &down = conv_.window[1], &across = conv_.window[2];
  const auto plain = [&](const ops::WindowAxis& axis) {
    return axis.kernel == across.kernel && axis.stride == across.stride && axis.dilation == 1;
  };
  const bool fits =
      (across.in <= across.stride * code_.width && across.out <= code_.width) || across.out >= code_.width + across.kernel / 2;
  return conv_.channels == 1 && outer.in == 1 && outer.out == 1 && outer.kernel == 1 && plain(down) && plain(across) &&
         (across.kernel == 3 || across.kernel == 5) && across.before == across.kernel / 2 && across.stride <= 2 &&
         down.before + across.stride <= down.kernel && fits;
}

template <class T>
void ConvolutionEngine<T>::slide_channel(const Arrays& arrays, std::int64_t group) const {
  const ops::WindowAxis &down = conv_.window[1], &across = conv_.window[2];
  SlideCall<T> call{across.kernel, across.stride, down.in, across.in, down.before, down.out, across.out};
  call.from = arrays.x + group * conv_.window.ins();
  call.end = end_of(arrays.x);
  for (std::int64_t row = 0; row < conv_.outputs; ++row) {
    const std::int64_t output = group % conv_.groups * conv_.outputs + row;
    call.weights = arrays.weight + output * conv_.depth();
    call.bias = arrays.bias ? arrays.bias[output] : T(0);
    call.to = arrays.y + (group * conv_.outputs + row) * conv_.window.outs();
    code_.slide_channel(call);
  }
}

/// Computes some groups, each stage for all of them before the next, so that no stage stalls on data that was just stored.
template <class T>
void ConvolutionEngine<T>::slide_groups(const Arrays& arrays, std::int64_t first, std::int64_t groups, T* room) const {
  const std::int64_t outs = conv_.window.outs(), line = conv_.window[2].out, depth = conv_.depth();
  const std::int64_t size = conv_.channels * conv_.window.ins();
  const T* planes = arrays.x + first * size;
  std::int64_t step = size;
  T* sums = room;
  if (!planes_.as_it_lies()) {
    for (std::int64_t c = 0; c < groups * conv_.channels; ++c) {
      T* to = room + c / conv_.channels * plane_room_ + c % conv_.channels * planes_.size();
      planes_.fill(code_, planes + c * conv_.window.ins(), end_of(arrays.x), T(0), to);
    }
    planes = room;
    step = plane_room_;
    sums += groups * plane_room_;
  }
  const std::int64_t count = planes_.place(outs - 1) + 1, lines = conv_.window[1].out, sums_room = slide_room_ - plane_room_;
  const bool whole = count == outs;
  // Planes in scratch memory may be read past their end.
  const std::int64_t taken = planes_.as_it_lies() || whole ? count : round_up(count, code_.width);
  for (std::int64_t row = 0; row < conv_.outputs; ++row) {
    for (std::int64_t g = 0; g < groups; ++g) {
      const std::int64_t output = (first + g) % conv_.groups * conv_.outputs + row;
      T* const to = whole ? arrays.y + ((first + g) * conv_.outputs + row) * outs : sums + g * sums_room;
      each_long(
          taken,
          [&](std::int64_t begin, std::int64_t end) {
            code_.slide(end - begin, depth, planes + g * step + begin, offsets_.data(), arrays.weight + output * depth,
                        arrays.bias ? arrays.bias[output] : T(0), to + begin);
          },
          slid_together(depth));
    }
    for (std::int64_t g = 0; !whole && g < groups; ++g) {
      T* y = arrays.y + ((first + g) * conv_.outputs + row) * outs;
      for (std::int64_t p = 0; p < outs; p += lines * line)
        code_.gather(lines, line, sums + g * sums_room + planes_.place(p), planes_.line_stride(), y + p);
    }
  }
}

// --- products ----------------------------------------------------------------------------------------------------------------------------

/// The number of blocks into which `columns` columns are divided. The last one includes a remainder of one register.
template <class T>
std::int64_t ConvolutionEngine<T>::across(std::int64_t columns) const {
  return ceil_div(std::max<std::int64_t>(1, columns - product_.width), column_block_);
}

template <class T>
void ConvolutionEngine<T>::multiply(Workers& workers, const Arrays& arrays, const ImagesOfGroup& part, T* room) {
  const std::int64_t depth = conv_.depth(), ins = conv_.window.ins();
  T *panels = room + plane_room_, *few = panels + panel_room_;
  const T* from = arrays.x + (part.image * conv_.groups + part.group) * conv_.channels * ins;
  if (!planes_.as_it_lies()) {
    workers.each_part(part.images * conv_.channels, std::max<std::int64_t>(1, kAfterPiece / planes_.size()),
                      [&](std::int64_t i, std::int64_t end) {
                        for (; i < end; ++i) {
                          const std::int64_t image = i / conv_.channels, channel = i % conv_.channels;
                          const T* channels = from + image * conv_.groups * conv_.channels * ins;
                          planes_.fill(code_, channels + channel * ins, end_of(arrays.x), T(0), room + i * planes_.size());
                        }
                      });
    from = room;
  }
  const std::int64_t columns = part.images * conv_.window.outs();
  if (alone_) return multiply_alone(workers, arrays, part, from, columns);
  for (std::int64_t first = 0; first < columns; first += strip_) {
    Strip strip{first, std::min(strip_, columns - first), 0, from, panels, few};
    strip.few = few_of(strip.columns);
    strip.columns -= strip.few;
    const std::int64_t blocks = across(strip.columns), deep = packs_ ? ceil_div(depth, kInnerBlock) : 0;
    workers.each(blocks * deep + (strip.few > 0 ? 1 : 0), [&](std::int64_t piece) {
      if (piece == blocks * deep) return pack_few(strip);
      pack(strip, piece % blocks, piece / blocks * kInnerBlock);
    });
    // Neighbouring pieces run on one thread; they share rows of weights if all columns stay in the second-level cache, else columns.
    const std::int64_t down = ceil_div(conv_.outputs, row_block_);
    const bool by_rows = strip.columns * depth * static_cast<std::int64_t>(sizeof(T)) <= kStayBytes;
    workers.each(down * blocks, [&](std::int64_t piece) {
      const std::int64_t row = by_rows ? piece / blocks : piece % down, block = by_rows ? piece % blocks : piece / down;
      tile(arrays, part, strip, row * row_block_, block);
    });
    if (arrays.after.kernel) finish(workers, arrays, part, first, strip.columns + strip.few);
  }
}

/// Makes every block of columns a strip of its own, packed and multiplied by one thread, so that its panels stay in that core's caches.
template <class T>
void ConvolutionEngine<T>::multiply_alone(Workers& workers, const Arrays& arrays, const ImagesOfGroup& part, const T* from,
                                          std::int64_t columns) {
  alone_rooms_.reserve(workers.threads(), panel_room_ + few_room_);
  const std::int64_t few = few_of(columns), blocks = across(columns - few);
  workers.each(blocks, [&](std::int64_t block) {
    const typename Scratch<T>::Part room(alone_rooms_);
    const bool last = block + 1 == blocks;
    const std::int64_t first = block * column_block_;
    const Strip strip{first, last ? columns - few - first : column_block_, last ? few : 0, from, room.data(), room.data() + panel_room_};
    for (std::int64_t inner = 0; inner < conv_.depth(); inner += kInnerBlock) pack(strip, 0, inner);
    pack_few(strip);
    for (std::int64_t row = 0; row < conv_.outputs; row += row_block_) tile(arrays, part, strip, row, 0);
  });
  if (arrays.after.kernel) finish(workers, arrays, part, 0, columns);
}

/// The number of columns at the end that are computed as dot products, because a register of their own would be almost empty.
template <class T>
std::int64_t ConvolutionEngine<T>::few_of(std::int64_t columns) const {
  const std::int64_t rest = columns % product_.width;
  return rest <= product_.width / 4 ? rest : 0;
}

/// The offset of a column's elements from those of the first column; columns run over all images.
template <class T>
std::int64_t ConvolutionEngine<T>::place(std::int64_t column) const {
  const std::int64_t outs = conv_.window.outs();
  const std::int64_t image_stride = (planes_.as_it_lies() ? conv_.groups : 1) * conv_.channels * planes_.size();
  return column / outs * image_stride + planes_.place(column % outs);
}

/// Packs the panels of one block of a strip, for one block of the inner axis.
template <class T>
void ConvolutionEngine<T>::pack(const Strip& strip, std::int64_t block, std::int64_t inner) const {
  const std::int64_t outs = conv_.window.outs(), lines = std::min(kInnerBlock, conv_.depth() - inner);
  const std::int64_t first = block * column_block_, end = block + 1 == across(strip.columns) ? strip.columns : first + column_block_;
  T* to = strip.panels + inner * packed_columns(strip.columns, product_.width) + first * lines;
  for (std::int64_t column = first; column < end;) {
    const std::int64_t width = panel_width(end - column, product_.width), count = std::min(width, end - column);
    std::array<PanelRun, kPanels> runs;
    std::size_t used = 0;
    for (std::int64_t done = 0; done < count;) {
      const std::int64_t at = strip.first + column + done, size = std::min(planes_.run(at % outs), count - done);
      runs[used++] = {place(at), done, size};
      done += size;
    }
    if (count < width) std::fill(to, to + lines * width, T(0));
    code_.pack({lines, width, strip.from, offsets_.data() + inner, runs.data(), static_cast<std::int64_t>(used), planes_.as_it_lies(), to});
    to += lines * width;
    column += width;
  }
}

/// Packs the few remaining columns of a strip, each contiguous along the inner axis.
template <class T>
void ConvolutionEngine<T>::pack_few(const Strip& strip) const {
  T* to = strip.few_columns;
  for (std::int64_t i = 0; i < strip.few; ++i) {
    const T* from = strip.from + place(strip.first + strip.columns + i);
    for (const std::int64_t line : offsets_) *to++ = from[line];
  }
}

/// Multiplies some rows by one block of a strip: directly into y if the block's columns belong to one image.
template <class T>
void ConvolutionEngine<T>::tile(const Arrays& arrays, const ImagesOfGroup& part, const Strip& strip, std::int64_t row, std::int64_t block) {
  const std::int64_t outs = conv_.window.outs(), rows = std::min(row_block_, conv_.outputs - row);
  const bool last = block + 1 == across(strip.columns);
  const std::int64_t first = block * column_block_, columns = (last ? strip.columns : first + column_block_) - first;
  const std::int64_t few = last ? strip.few : 0, all = columns + few, begin = strip.first + first;
  const typename Scratch<T>::Part room(tiles_);
  const bool one_image = begin % outs + all <= outs;
  const auto in_y = [&](std::int64_t r, std::int64_t column) { return arrays.y + output(part, column / outs, row + r) + column % outs; };
  const Matrix<T> sums = one_image ? Matrix<T>{in_y(0, begin), outs, 1} : Matrix<T>{room.data(), all, 1};
  multiply_block(arrays, part.group * conv_.outputs + row, strip, {first, columns, few, rows}, sums);
  for (std::int64_t r = 0; !one_image && r < rows; ++r) {
    for (std::int64_t done = 0; done < all;) {
      const std::int64_t size = std::min(outs - (begin + done) % outs, all - done);
      std::copy_n(sums.at + r * all + done, size, in_y(r, begin + done));
      done += size;
    }
  }
}

/// `row` counts over the weights of all groups.
template <class T>
void ConvolutionEngine<T>::multiply_block(const Arrays& arrays, std::int64_t row, const Strip& strip, const Block& block,
                                          const Matrix<T>& to) const {
  const std::int64_t depth = conv_.depth(), ins = conv_.window.ins();
  const T *weight = arrays.weight + row * depth, *bias = arrays.bias ? arrays.bias + row : nullptr;
  for (std::int64_t k = 0; k < depth; k += kInnerBlock) {
    if (k > 0) look_at_stop();
    const std::int64_t inner = std::min(kInnerBlock, depth - k);
    const T* packed = strip.panels + k * packed_columns(strip.columns, product_.width) + block.first * inner;
    const Matrix<const T> right =
        packs_ ? Matrix<const T>{packed, 0, 1} : Matrix<const T>{strip.from + k * ins + strip.first + block.first, ins, 1};
    product_.block(
        {block.rows, block.columns, inner, {weight + k, depth, 1}, false, right, packs_, to, k > 0, k + inner == depth ? bias : nullptr});
  }
  const std::int64_t done = depth > 0 ? block.columns : 0;
  if (depth > 0 && block.few > 0)
    product_.dots(block.few, block.rows, depth, {strip.few_columns, depth, 1}, {weight, depth, 1}, {to.at + done, 1, to.row});
  for (std::int64_t r = 0; r < block.rows; ++r) {
    for (std::int64_t i = done; i < block.columns + block.few; ++i) {
      T& sum = to.at[r * to.row + i];
      sum = (depth > 0 ? sum : T(0)) + (bias ? bias[r] : T(0));
    }
  }
}

/// Runs the steps after the convolution while results are still in a cache, on the images that the strip contains completely.
template <class T>
void ConvolutionEngine<T>::finish(Workers& workers, const Arrays& arrays, const ImagesOfGroup& part, std::int64_t strip,
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
