// quantized_conv: matrix products of the weights, widened to 16 bits, and panels that are packed from the bytes of the planes of the input;
// or, with few outputs in a group (depthwise), sums of shifted lines. Work is divided by the shape alone.
#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "executor/host/convolution/planes.h"
#include "executor/host/kernels.h"
#include "executor/host/quantized/code.h"
#include "executor/host/quantized/requantizer.h"
#include "executor/host/scratch.h"
#include "graph/base/stop.h"
#include "graph/ops/convolution.h"
#include "graph/ops/quantized_products.h"
#include "graph/shared_constants.h"

namespace cleave::runtime::host {
namespace {

constexpr std::int64_t kFewOutputs = 3;                           ///< outputs for which packing panels does not pay
constexpr std::int64_t kPanels = 48, kMostColumns = 2 * kPanels;  ///< columns of a piece; a multiple of every panel's width
constexpr std::int64_t kPanelBytes = 128 << 10;                   ///< of the panels of a piece
constexpr std::int64_t kRowsTogether = 48;
constexpr std::int64_t kEnoughPieces = 4;
constexpr std::int64_t kLeastWork = 1 << 18;     ///< multiplications of a piece
constexpr std::int64_t kLineElements = 1 << 20;  ///< elements of planes that are filled between two looks at the stop sign
constexpr std::int64_t kCopied = 32;             ///< bytes that are copied at a time
constexpr std::int64_t kSlack = 64;              ///< elements after scratch memory that may be read or written

constexpr std::int64_t up(std::int64_t x, std::int64_t to) {
  return (x + to - 1) / to * to;
}
constexpr std::int64_t parts_of(std::int64_t x, std::int64_t y) {
  return (x + y - 1) / y;
}

class QuantizedConvolutionKernel final : public HostKernel {
 public:
  explicit QuantizedConvolutionKernel(const KernelRequest& request)
      : conv_(ops::convolution_of(request.input_types, *request.attributes)), code_(quantized_code()), planes_(conv_.window) {
    for (std::int64_t c = 0; c < conv_.channels; ++c)
      for (const std::int64_t tap : planes_.taps()) offsets_.push_back(c * planes_.size() + tap);
    outs_ = conv_.window.outs();
    depth_ = conv_.depth();
    pairs_ = (depth_ + 1) / 2;
    row_ = widened_row(depth_);
    slides_ = conv_.outputs <= kFewOutputs;
    cut();
  }

  Status run(const KernelCall& call) override {
    if (call.results[0].type->elements() == 0) return {};
    requantizer_.read(call, conv_.groups * conv_.outputs);
    const TensorView& x = call.inputs[ops::kQuantizedX];
    x_ = x.as<const std::uint8_t>();
    x_end_ = x_ + x.type->elements();
    flip_ = flip_of(x.type->dtype);
    read_zeros(call.inputs[ops::kQuantizedXZero], x_zero_);
    weights_ = weights(call);
    if (slides_) {
      slide(call.workers);
    } else {
      multiply(call.workers);
    }
    return {};
  }

 private:
  void cut() {
    const std::int64_t channels = conv_.channels * planes_.size();
    plane_bytes_ = planes_.as_it_lies() ? 0 : channels + kSlack;
    if (slides_) {
      if (depth_ % 2 != 0) offsets_.push_back(offsets_.back());
      flat_ = up(planes_.place(std::max<std::int64_t>(0, outs_ - 1)) + 1, kSlidTogether);
      word_room_ = channels + 2 * kSlidTogether;
      for (std::int64_t at = 0; at < outs_; at += conv_.window[2].out) lines_.push_back(planes_.place(at));
      const std::int64_t work = channels + conv_.outputs * flat_ * std::max<std::int64_t>(1, depth_);
      groups_together_ = std::max<std::int64_t>(1, kLeastWork / 2 / std::max<std::int64_t>(1, work));
      return;
    }
    const std::int64_t column_bytes = std::max<std::int64_t>(1, 4 * pairs_);
    columns_ = std::clamp(kPanelBytes / column_bytes / kPanels * kPanels, kPanels, kMostColumns);
    columns_ = std::min(columns_, up(outs_, kPanels));
    columns_ = up(parts_of(std::max<std::int64_t>(1, outs_), parts_of(std::max<std::int64_t>(1, outs_), columns_)), kPanels);  // evenly
    apart_ = conv_.groups > 1 || conv_.batch * conv_.groups >= 2 * kEnoughPieces;
    const std::int64_t across = parts_of(outs_, columns_);
    const std::int64_t work = conv_.outputs * columns_ * std::max<std::int64_t>(1, depth_);
    const std::int64_t down =
        apart_ ? 1
               : std::clamp<std::int64_t>(std::min(parts_of(kEnoughPieces, std::max<std::int64_t>(1, across)), work / kLeastWork), 1,
                                          kEnoughPieces);
    rows_ = up(parts_of(conv_.outputs, down), code_.rows);
    panel_room_ = 2 * pairs_ * up(columns_, code_.width) + kSlack;
    sum_room_ = kRowsTogether * columns_ + kSlack;
  }

  // --- weights -------------------------------------------------------------------------------------------------------------------------

  void widen_weights(const KernelCall& call, std::int16_t* to) const {
    const TensorView& weight = call.inputs[ops::kQuantizedWeight];
    const std::uint8_t flip = flip_of(weight.type->dtype), *from = weight.as<const std::uint8_t>();
    StopLooks looks;
    for (std::int64_t output = 0; output < conv_.groups * conv_.outputs; ++output, to += row_) {
      looks.worked(depth_);
      const std::int16_t zero = weight_zeros_[weight_zeros_.size() == 1 ? 0 : static_cast<std::size_t>(output)];
      code_.widen(depth_, from + output * depth_, flip, zero, to);
      if (depth_ % 2 != 0) to[depth_] = 0;
    }
  }

  /// Weights in 16 bits, which are kept as long as they and their zero points are the same.
  const std::int16_t* weights(const KernelCall& call) {
    const TensorView& weight = call.inputs[ops::kQuantizedWeight];
    const bool keeps = call.keeps(ops::kQuantizedWeight) && call.keeps(ops::kQuantizedWeightZero);
    const std::byte* const from[] = {weight.data, call.inputs[ops::kQuantizedWeightZero].data};
    if (keeps && kept_ && kept_from_[0] == from[0] && kept_from_[1] == from[1]) return kept_->data();
    read_zeros(call.inputs[ops::kQuantizedWeightZero], weight_zeros_);
    const auto elements = static_cast<std::size_t>(conv_.groups * conv_.outputs * row_);
    const auto make = [&] {
      auto memory = std::make_shared<std::vector<std::int16_t>>(elements);
      widen_weights(call, memory->data());
      return memory;
    };
    if (!keeps) {
      own_.resize(elements);
      widen_weights(call, own_.data());
      return own_.data();
    }
    const std::string form =
        "words of " + std::string(to_string(weight.type->dtype)) + " " + std::to_string(depth_) + form_of_zeros(weight_zeros_);
    const auto bytes = static_cast<std::int64_t>(elements * sizeof(std::int16_t));
    kept_ = call.constants ? std::static_pointer_cast<std::vector<std::int16_t>>(call.constants->derived(weight.data, form, bytes, make))
                           : make();
    std::copy_n(from, 2, kept_from_.begin());
    return kept_->data();
  }

  // --- planes --------------------------------------------------------------------------------------------------------------------------

  /// The channels of a group of an image; `index` counts over groups and images.
  [[nodiscard]] const std::uint8_t* channels(std::int64_t index) const { return x_ + index * conv_.channels * conv_.window.ins(); }
  [[nodiscard]] std::uint8_t outside() const { return static_cast<std::uint8_t>(x_zero_[0] ^ flip_); }
  /// Fills the planes of one channel, as words or as bytes.
  void fill_channel(const std::uint8_t* channel, std::int16_t* words, std::uint8_t* bytes) const {
    const ops::WindowAxis &b = conv_.window[1], &c = conv_.window[2];
    ByteLinesCall call{planes_.rows(), 0, 0, planes_.line_stride()};
    call.from_row = b.stride * c.in;
    call.stride = c.stride;
    call.flip = flip_;
    call.outside = outside();
    call.zero = x_zero_[0];
    const std::int64_t rows = std::max<std::int64_t>(1, kLineElements / call.length);
    for (const Planes::Filled& of : planes_.filled()) {
      call.first = of.first;
      call.end = of.end;
      for (std::int64_t row = 0; row < planes_.rows(); row += rows) {
        if (row > 0) look_at_stop();
        call.rows = std::min(rows, planes_.rows() - row);
        call.first_row = std::clamp(of.first_row - row, std::int64_t{0}, call.rows);
        call.end_row = std::clamp(of.end_row - row, std::int64_t{0}, call.rows);
        if (call.first_row < call.end_row) {
          call.from = channel + of.from + std::max<std::int64_t>(0, row - of.first_row) * call.from_row;
          call.readable = x_end_ - call.from;
        }
        call.words = words;
        call.bytes = bytes;
        code_.lines(call);
        (words ? void(words += call.rows * call.length) : void(bytes += call.rows * call.length));
      }
    }
  }
  void fill_planes(const std::uint8_t* from, std::int64_t first, std::int64_t end, std::uint8_t* to) const {
    for (std::int64_t c = first; c < end; ++c) fill_channel(from + c * conv_.window.ins(), nullptr, to + c * planes_.size());
  }

  // --- sums of shifted lines -----------------------------------------------------------------------------------------------------------

  void slide(Workers& workers) {
    bytes_.reserve(workers.threads(), flat_ * requantizer_.element_bytes() + kSlack);
    words_.reserve(workers.threads(), word_room_);
    sums_.reserve(workers.threads(), flat_);
    workers.each_part(conv_.batch * conv_.groups, groups_together_, [&](std::int64_t begin, std::int64_t end) {
      const Scratch<std::uint8_t>::Part bytes(bytes_);
      const Scratch<std::int16_t>::Part words(words_);
      const Scratch<std::int32_t>::Part sums(sums_);
      for (std::int64_t i = begin; i < end; ++i) slide_group(i, bytes.data(), words.data(), sums.data());
    });
  }

  void slide_group(std::int64_t index, std::uint8_t* bytes, std::int16_t* words, std::int32_t* sums) const {
    const std::uint8_t* planes = channels(index);
    const std::int64_t size = conv_.channels * planes_.size();
    for (std::int64_t c = 0; !planes_.as_it_lies() && c < conv_.channels; ++c)
      fill_channel(planes + c * conv_.window.ins(), words + c * planes_.size(), nullptr);
    if (planes_.as_it_lies())
      each_with_looks(
          size, [&](std::int64_t begin, std::int64_t end) { code_.widen(end - begin, planes + begin, flip_, x_zero_[0], words + begin); },
          1 << 20);
    const bool whole = planes_.place(outs_ - 1) + 1 == outs_;
    const std::int64_t together = std::max<std::int64_t>(1, (1 << 22) / std::max<std::int64_t>(1, depth_) / kSlidTogether) * kSlidTogether;
    for (std::int64_t row = 0; row < conv_.outputs; ++row) {
      const std::int64_t output = index % conv_.groups * conv_.outputs + row;
      for (std::int64_t i = 0; i < flat_; i += together) {
        look_at_stop();
        code_.slide({std::min(together, flat_ - i), static_cast<std::int64_t>(depth_ == 0 ? 0 : offsets_.size()), words + i,
                     offsets_.data(), weights_ + output * row_, sums + i});
      }
      const std::int64_t place = (index * conv_.outputs + row) * outs_;
      if (whole) {
        code_.rescale(requantizer_.of_channel(output, place, sums, outs_));
        continue;
      }
      RescaleCall call = requantizer_.of_channel(output, place, sums, flat_);
      auto* to = static_cast<std::uint8_t*>(call.to);
      call.to = bytes;
      code_.rescale(call);
      copy_lines(bytes, to);
    }
  }

  /// Copies the lines of results, between which there are gaps. What is written after a line is overwritten by the next one.
  void copy_lines(const std::uint8_t* from, std::uint8_t* to) const {
    const std::int64_t element = requantizer_.element_bytes(), bytes = conv_.window[2].out * element;
    const std::uint8_t* const end = to + outs_ * element;
    for (const std::int64_t line : lines_) {
      const std::uint8_t* const at = from + line * element;
      std::int64_t i = 0;
      for (; i < bytes && to + i + kCopied <= end; i += kCopied) std::memcpy(to + i, at + i, static_cast<std::size_t>(kCopied));
      if (i < bytes) std::memcpy(to + i, at + i, static_cast<std::size_t>(bytes - i));
      to += bytes;
    }
  }

  // --- products ------------------------------------------------------------------------------------------------------------------------

  void multiply(Workers& workers) {
    bytes_.reserve(apart_ ? workers.threads() : 1, plane_bytes_);
    words_.reserve(workers.threads(), panel_room_);
    sums_.reserve(workers.threads(), sum_room_);
    zeros_.assign(static_cast<std::size_t>(2 * (columns_ + kSlack)), x_zero_[0]);
    const std::int64_t down = parts_of(conv_.outputs, rows_), across = parts_of(outs_, columns_);
    if (apart_) {
      workers.each(conv_.batch * conv_.groups, [&](std::int64_t index) {
        const std::uint8_t* planes = channels(index);
        if (planes_.as_it_lies()) return columns_of_group(index, planes, 0, across);
        const Scratch<std::uint8_t>::Part bytes(bytes_);
        fill_planes(planes, 0, conv_.channels, bytes.data());
        columns_of_group(index, bytes.data(), 0, across);
      });
      return;
    }
    for (std::int64_t index = 0; index < conv_.batch * conv_.groups; ++index) {
      const std::uint8_t* planes = channels(index);
      if (!planes_.as_it_lies()) {
        const Scratch<std::uint8_t>::Part bytes(bytes_);
        std::uint8_t* to = bytes.data();
        const std::int64_t grain = std::max<std::int64_t>(1, Workers::kWorthwhileBytes / planes_.size());
        workers.each_part(conv_.channels, grain, [&](std::int64_t first, std::int64_t end) { fill_planes(planes, first, end, to); });
        planes = to;
      }
      workers.each(down * across, [&](std::int64_t piece) {
        const std::int64_t row = piece / across * rows_;
        block(index, planes, piece % across * columns_, row, std::min(rows_, conv_.outputs - row));
      });
    }
  }

  void columns_of_group(std::int64_t index, const std::uint8_t* planes, std::int64_t first, std::int64_t end) {
    for (std::int64_t i = first; i < end; ++i) block(index, planes, i * columns_, 0, conv_.outputs);
  }

  /// Packs some columns, and multiplies them by some rows of the weights.
  void block(std::int64_t index, const std::uint8_t* planes, std::int64_t first, std::int64_t row, std::int64_t rows) {
    const std::int64_t columns = std::min(columns_, outs_ - first), stride = up(columns, code_.width);
    const Scratch<std::int16_t>::Part panels(words_);
    const Scratch<std::int32_t>::Part sums(sums_);
    for (std::int64_t column = 0; column < columns;) {
      const std::int64_t width = quantized_panel(columns - column, code_.width, code_.registers);
      pack(planes, first + column, std::min(width, columns - column), width, panels.data() + 2 * pairs_ * column);
      column += width;
    }
    for (const std::int64_t end = row + rows; row < end; row += kRowsTogether) {
      look_at_stop();
      const std::int64_t output = index % conv_.groups * conv_.outputs + row;
      QuantizedBlock call;
      call.rows = std::min(kRowsTogether, end - row);
      call.columns = columns;
      call.panel_pairs = pairs_;
      call.a = weights_ + output * row_;
      call.a_row = row_;
      call.b = panels.data();
      call.c = sums.data();
      call.c_row = stride;
      if (pairs_ == 0) std::fill_n(sums.data(), call.rows * stride, 0);
      multiply_in_ranges(code_, call);
      for (std::int64_t r = 0; r < call.rows; ++r)
        code_.rescale(
            requantizer_.of_channel(output + r, (index * conv_.outputs + row + r) * outs_ + first, sums.data() + r * stride, columns));
    }
  }

  void pack(const std::uint8_t* planes, std::int64_t first, std::int64_t count, std::int64_t width, std::int16_t* to) const {
    std::array<ByteRun, kPanels> runs;
    std::size_t used = 0;
    for (std::int64_t done = 0; done < count;) {
      const std::int64_t size = std::min(planes_.run(first + done), count - done);
      runs[used++] = {planes_.place(first + done), done, size};
      done += size;
    }
    const std::int64_t lines = depth_;
    code_.pack({lines, width, planes, offsets_.data(), runs.data(), static_cast<std::int64_t>(used), planes_.as_it_lies(), flip_,
                zeros_.data(), to});
  }

  const ops::Convolution conv_;
  const QuantizedCode& code_;
  const Planes planes_;
  std::vector<std::int64_t> offsets_;  ///< by line of the product's right operand: its offset in the planes of a group
  std::vector<std::int64_t> lines_;    ///< the places of each line of results among sums of shifted lines
  std::int64_t outs_ = 0, depth_ = 0, pairs_ = 0, row_ = 0;
  bool slides_ = false, apart_ = false;  ///< `apart_`: each group of an image is one piece of the work
  std::int64_t plane_bytes_ = 0, flat_ = 0, word_room_ = 0, groups_together_ = 1;
  std::int64_t columns_ = kPanels, rows_ = 1, panel_room_ = 0, sum_room_ = 0;
  Requantizer requantizer_;
  const std::uint8_t *x_ = nullptr, *x_end_ = nullptr;
  std::uint8_t flip_ = 0;
  std::vector<std::int16_t> x_zero_, weight_zeros_, zeros_, own_;
  const std::int16_t* weights_ = nullptr;
  std::shared_ptr<std::vector<std::int16_t>> kept_;
  std::array<const std::byte*, 2> kept_from_{};
  Scratch<std::uint8_t> bytes_;
  Scratch<std::int16_t> words_;
  Scratch<std::int32_t> sums_;
};

std::unique_ptr<HostKernel> prepare_quantized_conv(const KernelRequest& request) {
  if (!Planes::fit(ops::convolution_of(request.input_types, *request.attributes).window)) return plain_kernel(run_reference);
  return std::make_unique<QuantizedConvolutionKernel>(request);
}

Status quantized_conv_kernel(const KernelCall& call) {
  KernelRequest request{{}, &call.op, &call.attributes, {}, {}, {}, {}, {}, {}};
  for (const TensorView& input : call.inputs) request.input_types.push_back(*input.type);
  for (const TensorView& result : call.results) request.result_types.push_back(*result.type);
  return prepare_quantized_conv(request)->run(call);
}

}  // namespace

constexpr KernelRow rows::quantized_conv{quantized_conv_kernel, prepare_quantized_conv};

}  // namespace cleave::runtime::host
