#include "models/onnx/block_weights.h"

#include <algorithm>

#include "models/onnx/pieces.h"

namespace cleave::models::onnx {
namespace {

constexpr std::int64_t kMostExtent = 1 << 30;  ///< so that no product of two of them overflows

std::int64_t zero_bytes(const BlockWeights& of) {
  const std::int64_t elements = of.zeros_along_rows ? of.rows / of.matrices : of.blocks();
  return (of.zeros_along_rows ? of.matrices : of.rows) * ((elements * of.bits + 7) / 8);
}

int element_of(const std::uint8_t* bytes, std::int64_t at, std::int64_t bits) {
  const std::int64_t bit = at * bits;
  return (bytes[bit / 8] >> (bit % 8)) & ((1 << bits) - 1);
}

/// The zero point of a block.
float zero_of(const BlockWeights& of, const Array* zeros, std::int64_t row, std::int64_t block) {
  if (!zeros) return static_cast<float>(1 << (of.bits - 1));
  if (zeros->dtype() != DType::u8) return static_cast<float>(zeros->at(row * of.blocks() + block));
  const auto* bytes = zeros->data<std::uint8_t>();
  if (!of.zeros_along_rows) return static_cast<float>(element_of(bytes + row * (zeros->size() / of.rows), block, of.bits));
  const std::int64_t rows = of.rows / of.matrices;
  return static_cast<float>(element_of(bytes + row / rows * (zeros->size() / of.matrices), row % rows, of.bits));
}

struct KnownWeights {
  Array packed, scales;
  std::optional<Array> zeros, block_of;
};

std::optional<KnownWeights> known_weights(const Call& c, const BlockWeights& of) {
  const std::optional<Array> packed = c.known(of.packed), scales = c.known(of.scales);
  KnownWeights known{packed.value_or(Array()), scales.value_or(Array()), {}, {}};
  if (c.has(of.zeros)) known.zeros = c.known(of.zeros);
  if (of.block_of) known.block_of = c.known(*of.block_of);
  const bool all = packed && scales && (known.zeros || !c.has(of.zeros)) && (known.block_of || !of.block_of);
  return all ? std::optional(std::move(known)) : std::nullopt;
}

Array decoded(const BlockWeights& of, const KnownWeights& from) {
  Array array(TensorType{from.scales.dtype(), {of.rows, of.columns}});
  const std::int64_t row_bytes = from.packed.size() / of.rows, blocks = of.blocks();
  std::vector<float> scales(static_cast<std::size_t>(blocks)), zeros(scales.size());
  std::vector<std::size_t> block_of(static_cast<std::size_t>(of.columns));
  for (std::size_t column = 0; column < block_of.size(); ++column) {
    const auto at = static_cast<std::int64_t>(column);
    const std::int64_t block = from.block_of ? static_cast<std::int64_t>(from.block_of->at(at)) : at / of.block;
    block_of[column] = static_cast<std::size_t>(std::clamp<std::int64_t>(block, 0, blocks - 1));
  }
  dispatch(array.dtype(), [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
      T* to = array.template mutable_data<T>();
      for (std::int64_t row = 0; row < of.rows; ++row) {
        for (std::size_t block = 0; block < scales.size(); ++block) {
          scales[block] = static_cast<float>(from.scales.at(row * blocks + static_cast<std::int64_t>(block)));
          zeros[block] = zero_of(of, from.zeros ? &*from.zeros : nullptr, row, static_cast<std::int64_t>(block));
        }
        const std::uint8_t* bytes = from.packed.data<std::uint8_t>() + row * row_bytes;
        for (std::size_t column = 0; column < block_of.size(); ++column) {
          const std::size_t block = block_of[column];
          const auto element = static_cast<float>(element_of(bytes, static_cast<std::int64_t>(column), of.bits));
          *to++ = T((element - zeros[block]) * scales[block]);
        }
      }
    }
  });
  return array;
}

/// Values of blocks, [rows, blocks], as values of columns.
Part of_columns(Call& c, const BlockWeights& of, const Part& blocks) {
  if (of.block_of) return c(op::take, {blocks, reshaped(c, c[*of.block_of], {of.columns})}, {{"axis", std::int64_t{1}}});
  if (of.blocks() == 1) return blocks;
  return piece(c, c(op::repeat, {blocks}, {{"repeats", of.block}, {"axis", std::int64_t{1}}}), 1, 0, of.columns);
}

Part zero_points(Call& c, const BlockWeights& of) {
  if (c[of.zeros].dtype() != DType::u8) return reshaped(c, c[of.zeros], {of.rows, of.blocks()});
  const std::int64_t rows = of.zeros_along_rows ? of.matrices : of.rows,
                     elements = of.zeros_along_rows ? of.rows / of.matrices : of.blocks();
  const Part bytes = reshaped(c, c[of.zeros], {rows, zero_bytes(of) / rows});
  return reshaped(c, piece(c, unpacked_bits(c, bytes, of.bits), 1, 0, elements), {of.rows, of.blocks()});
}

}  // namespace

bool block_weights_fit(Call& c, const BlockWeights& of) {
  const std::string node = "`" + std::string(c.op()) + "`";
  const auto wrong = [&](const std::string& what) {
    c.mistake(DiagnosticKind::value, node + ": " + what);
    return false;
  };
  if (of.bits != 2 && of.bits != 4 && of.bits != 8) {
    c.unsupported("of weights of " + std::to_string(of.bits) + " bits");
    return false;
  }
  const auto possible = [](std::int64_t extent) { return extent >= 1 && extent <= kMostExtent; };
  if (!possible(of.rows) || !possible(of.columns) || !possible(of.block)) return wrong("there are no weights of these extents and blocks");
  const std::int64_t packed = c[of.packed].type().elements(), least = of.rows * ((of.columns * of.bits + 7) / 8);
  if (c[of.packed].dtype() != DType::u8 || packed < least || packed % of.rows != 0)
    return wrong("packed weights " + to_string(c[of.packed].type()) + " are not " + std::to_string(of.rows) + " rows of " +
                 std::to_string(of.columns) + " elements of " + std::to_string(of.bits) + " bits");
  const std::int64_t scales = c[of.scales].type().elements();
  if (!is_floating(c[of.scales].dtype()) || scales != of.rows * of.blocks())
    return wrong("scales " + to_string(c[of.scales].type()) + " are not one for each of " + std::to_string(of.blocks()) + " blocks of " +
                 std::to_string(of.rows) + " rows");
  if (of.block_of && c[*of.block_of].type().elements() < of.columns)
    return wrong("the block numbers " + to_string(c[*of.block_of].type()) + " are fewer than the " + std::to_string(of.columns) +
                 " columns");
  if (!c.has(of.zeros)) return true;
  const bool bytes = c[of.zeros].dtype() == DType::u8;
  if (c[of.zeros].type().elements() == (bytes ? zero_bytes(of) : scales) && (bytes || is_floating(c[of.zeros].dtype()))) return true;
  return wrong("zero points " + to_string(c[of.zeros].type()) + " are not one for each scale of " + to_string(c[of.scales].type()));
}

Part dequantized(Call& c, const BlockWeights& of) {
  if (const std::optional<KnownWeights> known = known_weights(c, of)) return c.constant(decoded(of, *known));
  const DType dtype = c[of.scales].dtype();
  const std::int64_t row_bytes = c[of.packed].type().elements() / of.rows;
  const Part elements = unpacked_bits(c, reshaped(c, c[of.packed], {of.rows, row_bytes}), of.bits);
  const Part numbers = c.as(dtype, piece(c, elements, 1, 0, of.columns));
  const Part scales = of_columns(c, of, reshaped(c, c[of.scales], {of.rows, of.blocks()}));
  const Part middle = c.number_as(dtype, static_cast<double>(1 << (of.bits - 1)));
  const Part zeros = c.has(of.zeros) ? of_columns(c, of, c.as(dtype, zero_points(c, of))) : middle;
  return c.multiply(c.subtract(numbers, zeros), scales);
}

Part unpacked_bits(Call& c, const Part& packed, std::int64_t bits) {
  if (bits == 8 || packed.operand().poisoned()) return packed;
  const Part mask = c.number_as(DType::u8, static_cast<double>((1 << bits) - 1));
  Parts parts;
  for (std::int64_t shift = 0; shift < 8; shift += bits) {
    const Part moved = shift == 0 ? packed : c(op::bitwise_right_shift, {packed, c.number_as(DType::u8, static_cast<double>(shift))});
    parts.push_back(c(op::bitwise_and, {moved, mask}));
  }
  Shape shape = packed.shape();
  const std::int64_t axis = packed.rank();
  shape.back() *= 8 / bits;
  return c.reshape(c(op::stack, parts, {{"axis", axis}}), shape);
}

}  // namespace cleave::models::onnx
