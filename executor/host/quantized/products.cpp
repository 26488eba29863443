// quantized_matmul: both factors are widened to 16 bits, the right one into panels, which are kept if it is constant.
#include <algorithm>
#include <array>
#include <vector>

#include "executor/host/kernels.h"
#include "executor/host/long_copy.h"
#include "executor/host/quantized/code.h"
#include "executor/host/quantized/requantizer.h"
#include "executor/host/scratch.h"
#include "graph/ops/quantized_products.h"
#include "graph/shared_constants.h"

namespace cleave::runtime::host {
namespace {

constexpr std::int64_t kPanelColumns = 48;  ///< a multiple of every panel's width
constexpr std::int64_t kBlockRows = 48, kMostBlockColumns = 480;
constexpr std::int64_t kPieceWork = 1 << 19;      ///< multiplications of a piece
constexpr std::int64_t kLinesTogether = 1 << 14;  ///< lines that are packed between two looks at the stop sign; even
constexpr std::int64_t kPastPanel = 64;           ///< elements that packing may write after a panel

constexpr std::int64_t round_up_to(std::int64_t x, std::int64_t to) {
  return (x + to - 1) / to * to;
}

/// Memory that kernels derive from a constant.
std::shared_ptr<std::int16_t> panel_memory(std::int64_t elements) {
  constexpr auto kAlignment = std::align_val_t(Scratch<std::int16_t>::kAlignment);
  return {static_cast<std::int16_t*>(::operator new[](static_cast<std::size_t>(elements) * sizeof(std::int16_t), kAlignment)),
          [](std::int16_t* memory) { ::operator delete[](memory, kAlignment); }};
}

class QuantizedMatmulKernel final : public HostKernel {
 public:
  explicit QuantizedMatmulKernel(const KernelRequest& request)
      : product_(ops::quantized_matmul_of(request.input_types)), code_(quantized_code()), pairs_((product_.inner + 1) / 2) {
    for (const std::int64_t extent : product_.batch) matrices_ *= extent;
    const auto elements = [&](std::size_t operand) { return request.input_types[operand].elements(); };
    const std::int64_t rights = product_.inner * product_.columns;
    right_matrices_ = rights == 0 ? 0 : elements(ops::kQuantizedWeight) / rights;
    left_rows_ = product_.inner == 0 ? 0 : elements(ops::kQuantizedX) / product_.inner;
    if (right_matrices_ == 1 && matrices_ * product_.rows == left_rows_) {  // the rows of all matrices are multiplied by the same one
      product_.rows = left_rows_;
      matrices_ = 1;
      product_.batch.clear();
      product_.a_batch.clear();
      product_.b_batch.clear();
    }
    row_ = widened_row(product_.inner);
    panel_elements_ = 2 * pairs_ * round_up_to(product_.columns, code_.width) + kPastPanel;
    block_rows_ = std::clamp<std::int64_t>(product_.rows, 1, kBlockRows);
    const std::int64_t wide = kPieceWork / (block_rows_ * std::max<std::int64_t>(1, product_.inner));
    block_columns_ = std::clamp(round_up_to(wide, kPanelColumns), 2 * kPanelColumns, kMostBlockColumns);
  }

  Status run(const KernelCall& call) override {
    if (call.results[0].type->elements() == 0) return {};
    requantizer_.read(call, product_.columns);
    if (product_.inner == 0) {
      no_sums(call);
      return {};
    }
    widen_left(call);
    const std::int16_t* panels = right_panels(call);
    const std::int64_t down = ceil(product_.rows, block_rows_), across = ceil(product_.columns, block_columns_);
    sums_.reserve(call.workers.threads(), block_rows_ * block_columns_);
    call.workers.each(matrices_ * down * across, [&](std::int64_t piece) {
      const std::int64_t matrix = piece / down / across, row = piece % down * block_rows_, column = piece / down % across * block_columns_;
      one(matrix, row, column, panels);
    });
    return {};
  }

 private:
  static std::int64_t ceil(std::int64_t x, std::int64_t y) { return (x + y - 1) / y; }

  /// Sums of no products are zeros.
  void no_sums(const KernelCall& call) {
    const std::vector<std::int32_t> zeros(static_cast<std::size_t>(round_up_to(product_.columns, code_.width)));
    for (std::int64_t row = 0; row < call.results[0].type->elements() / product_.columns; ++row)
      code_.rescale(requantizer_.of_columns(0, row * product_.columns, zeros.data(), product_.columns));
  }

  void widen_left(const KernelCall& call) {
    read_zeros(call.inputs[ops::kQuantizedXZero], left_zeros_);
    const TensorView& x = call.inputs[ops::kQuantizedX];
    const std::uint8_t flip = flip_of(x.type->dtype), *from = x.as<const std::uint8_t>();
    left_.reserve(1, left_rows_ * row_);
    const Scratch<std::int16_t>::Part part(left_);
    left_at_ = part.data();
    std::int16_t* to = part.data();
    call.workers.each_part(
        left_rows_, std::max<std::int64_t>(1, Workers::kWorthwhileBytes / row_), [&](std::int64_t row, std::int64_t end) {
          for (; row < end; ++row) {
            each_long(
                product_.inner,
                [&](std::int64_t begin, std::int64_t last) {
                  code_.widen(last - begin, from + row * product_.inner + begin, flip, left_zeros_[0], to + row * row_ + begin);
                },
                kLinesTogether * kPanelColumns);
            if (product_.inner % 2 != 0) to[row * row_ + product_.inner] = 0;
          }
        });
  }

  void pack_right(const KernelCall& call, std::int16_t* to) {
    const TensorView& weight = call.inputs[ops::kQuantizedWeight];
    const std::uint8_t flip = flip_of(weight.type->dtype), *from = weight.as<const std::uint8_t>();
    zeros_.assign(static_cast<std::size_t>(2 * (product_.columns + kPanelColumns + 16)), right_zeros_[0]);
    for (std::size_t i = 0; right_zeros_.size() > 1 && i < right_zeros_.size(); ++i) zeros_[2 * i] = zeros_[2 * i + 1] = right_zeros_[i];
    offsets_.resize(static_cast<std::size_t>(std::min(product_.inner, kLinesTogether)));
    for (std::size_t k = 0; k < offsets_.size(); ++k) offsets_[k] = static_cast<std::int64_t>(k) * product_.columns;
    const std::int64_t blocks = ceil(product_.columns, kPanelColumns);
    call.workers.each(right_matrices_ * blocks, [&](std::int64_t piece) {
      const std::int64_t matrix = piece / blocks, first = piece % blocks * kPanelColumns;
      const std::int64_t end = std::min(first + kPanelColumns, product_.columns);
      std::vector<std::int16_t> room;
      for (std::int64_t column = first; column < end;) {
        // Panels are those of the whole matrix: only its last ones are narrower.
        const std::int64_t width = quantized_panel(product_.columns - column, code_.width, code_.registers);
        const std::int64_t count = std::min(width, product_.columns - column);
        const ByteRun run{column, 0, count};
        std::int16_t* panel = to + matrix * panel_elements_ + 2 * pairs_ * column;
        // The next panel may be packed by another thread: then nothing may be written after this one.
        const bool last = column + width >= end && end < product_.columns && width % 16 != 0;
        room.resize(last ? static_cast<std::size_t>(2 * pairs_ * width + kPastPanel) : 0);
        const std::uint8_t* const lines = from + matrix * product_.inner * product_.columns;
        std::int16_t* const packed = last ? room.data() : panel;
        each_long(
            product_.inner,
            [&](std::int64_t begin, std::int64_t end_of_lines) {
              code_.pack({end_of_lines - begin, width, lines + begin * product_.columns, offsets_.data(), &run, 1, true, flip,
                          zeros_.data() + 2 * column, packed + begin * width});
            },
            kLinesTogether);
        if (last) std::copy_n(room.data(), 2 * pairs_ * width, panel);
        column += width;
      }
    });
  }

  /// The panels of all right matrices. They are kept as long as matrix and zero points are the same.
  const std::int16_t* right_panels(const KernelCall& call) {
    const TensorView& weight = call.inputs[ops::kQuantizedWeight];
    const bool keeps = call.keeps(ops::kQuantizedWeight) && call.keeps(ops::kQuantizedWeightZero);
    const std::byte* const from[] = {weight.data, call.inputs[ops::kQuantizedWeightZero].data};
    if (keeps && kept_ && kept_from_[0] == from[0] && kept_from_[1] == from[1]) return kept_.get();
    read_zeros(call.inputs[ops::kQuantizedWeightZero], right_zeros_);
    const std::int64_t elements = right_matrices_ * panel_elements_;
    if (!keeps) {
      panels_.reserve(1, elements);
      const Scratch<std::int16_t>::Part part(panels_);
      pack_right(call, part.data());
      return part.data();
    }
    const auto make = [&] {
      std::shared_ptr<std::int16_t> memory = panel_memory(elements);
      pack_right(call, memory.get());
      return memory;
    };
    const std::string form = "panels of " + std::string(to_string(weight.type->dtype)) + " " + std::to_string(product_.inner) + " " +
                             std::to_string(product_.columns) + " " + std::to_string(code_.width) + form_of_zeros(right_zeros_);
    constexpr std::int64_t kBytes = sizeof(std::int16_t);
    kept_ = call.constants ? std::static_pointer_cast<std::int16_t>(call.constants->derived(weight.data, form, elements * kBytes, make))
                           : make();
    std::copy_n(from, 2, kept_from_.begin());
    return kept_.get();
  }

  void one(std::int64_t matrix, std::int64_t row, std::int64_t column, const std::int16_t* panels) {
    std::int64_t left = 0, right = 0, rest = matrix;  // in elements of the operands
    for (std::size_t axis = product_.batch.size(); axis-- > 0; rest /= product_.batch[axis]) {
      left += rest % product_.batch[axis] * product_.a_batch[axis];
      right += rest % product_.batch[axis] * product_.b_batch[axis];
    }
    const std::int64_t rows = std::min(block_rows_, product_.rows - row), columns = std::min(block_columns_, product_.columns - column);
    const Scratch<std::int32_t>::Part sums(sums_);
    const std::int64_t stride = round_up_to(columns, code_.width);
    QuantizedBlock block;
    block.rows = rows;
    block.columns = columns;
    block.panel_pairs = pairs_;
    block.a = left_at_ + (left / product_.inner + row) * row_;
    block.a_row = row_;
    block.b = panels + right / (product_.inner * product_.columns) * panel_elements_ + 2 * pairs_ * column;
    block.c = sums.data();
    block.c_row = stride;
    multiply_in_ranges(code_, block);
    const std::int64_t place = (matrix * product_.rows + row) * product_.columns + column;
    for (std::int64_t r = 0; r < rows; ++r)
      code_.rescale(requantizer_.of_columns(column, place + r * product_.columns, sums.data() + r * stride, columns));
  }

  ops::QuantizedMatmul product_;
  const QuantizedCode& code_;
  std::int64_t pairs_ = 0, matrices_ = 1, right_matrices_ = 1, left_rows_ = 0;
  std::int64_t row_ = 0, panel_elements_ = 0, block_rows_ = 1, block_columns_ = 1;
  Requantizer requantizer_;
  Scratch<std::int16_t> left_, panels_;
  Scratch<std::int32_t> sums_;
  const std::int16_t* left_at_ = nullptr;
  std::vector<std::int16_t> left_zeros_, right_zeros_, zeros_;  ///< `zeros_`: by column, twice each
  std::vector<std::int64_t> offsets_;
  std::shared_ptr<std::int16_t> kept_;
  std::array<const std::byte*, 2> kept_from_{};
};

std::unique_ptr<HostKernel> prepare_quantized_matmul(const KernelRequest& request) {
  return std::make_unique<QuantizedMatmulKernel>(request);
}

Status quantized_matmul_kernel(const KernelCall& call) {
  KernelRequest request{{}, &call.op, &call.attributes, {}, {}, {}, {}, {}, {}};
  for (const TensorView& input : call.inputs) request.input_types.push_back(*input.type);
  for (const TensorView& result : call.results) request.result_types.push_back(*result.type);
  return QuantizedMatmulKernel(request).run(call);
}

}  // namespace

constexpr KernelRow rows::quantized_matmul{quantized_matmul_kernel, prepare_quantized_matmul};

}  // namespace cleave::runtime::host
