// Lowerings of ONNX Runtime's operators with weights of few bits: MatMulNBits and GatherBlockQuantized.
#include "models/onnx/block_weights.h"
#include "models/onnx/pieces.h"

namespace cleave::models::onnx {
namespace {

Values matmul_nbits(Call& c) {
  c.ignore({"accuracy_level"});  // how far a kernel may round the other operand
  if (c.integer("weight_prepacked", 0) != 0) return c.unsupported("with `weight_prepacked`");
  const std::int64_t k = c.integer("K", 0), n = c.integer("N", 0), block = c.integer("block_size", 0);
  BlockWeights of;
  of.packed = 1, of.scales = 2, of.zeros = 3;
  of.rows = n, of.columns = k, of.bits = c.integer("bits", 4), of.block = block;
  if (c.has(4)) of.block_of = 4;
  if (!block_weights_fit(c, of)) return c.poison();
  if (c[0].rank() < 1 || c[0].shape().back() != k)
    return c.mistake(DiagnosticKind::shape, "`MatMulNBits`: the last axis of " + to_string(c[0].type()) + " has not the " +
                                                std::to_string(k) + " elements that `K` says");
  const Part weights = c.as(c[0].dtype(), dequantized(c, of));
  const Part product = c(op::matmul, {c[0], c(op::transpose, {weights})});
  return {c.has(5) ? c.add(product, c[5]) : product};
}

// --- GatherBlockQuantized ----------------------------------------------------------------------------------------------------------------

/// Values of blocks along `axis` as values of its `extent` elements.
Part repeated(Call& c, const Part& blocks, int axis, std::int64_t block, std::int64_t extent) {
  return piece(c, c(op::repeat, {blocks}, {{"repeats", block}, {"axis", std::int64_t{axis}}}), axis, 0, extent);
}

constexpr std::int64_t kMostBlock = 1 << 30;

/// Rows are taken first, and only these are unpacked. Elements of a narrow type were unpacked when the file was read.
Values gather_block_quantized(Call& c) {
  const NarrowType* const narrow = c.value(0).narrow;
  const std::int64_t bits = c.integer("bits", 4), block = c.integer("block_size", 128);
  const int rank = c[0].rank();
  const std::optional<int> gather = c.axis(c.integer("gather_axis", 0), rank), quantize = c.axis(c.integer("quantize_axis", 1), rank);
  if (!gather || !quantize) return c.poison();
  if (!is_integer(c[1].dtype()))
    return c.mistake(DiagnosticKind::type, "`GatherBlockQuantized`: the indices are integers, not " + to_string(c[1].type()));
  if (narrow ? narrow->kind != NarrowType::Kind::integer : c[0].dtype() != DType::u8)
    return c.unsupported("of elements of " + std::string(narrow ? narrow->name : to_string(c[0].dtype())));
  if (bits != 2 && bits != 4 && bits != 8) return c.unsupported("of elements of " + std::to_string(bits) + " bits");
  if (*gather == *quantize || (!narrow && (*gather != 0 || *quantize != rank - 1)))
    return c.unsupported("of packed elements along other axes than the first, with blocks along the last,");
  Shape wanted = c[0].shape();
  if (!narrow) wanted.back() *= 8 / bits;
  const std::int64_t extent = wanted[static_cast<std::size_t>(*quantize)];
  if (block >= 1 && block <= kMostBlock) wanted[static_cast<std::size_t>(*quantize)] = (extent + block - 1) / block;
  if (block < 1 || block > kMostBlock || c[2].shape() != wanted)
    return c.mistake(DiagnosticKind::shape, "`GatherBlockQuantized`: scales " + to_string(c[2].type()) + " are not one for each " +
                                                std::to_string(block) + " elements of axis " + std::to_string(*quantize) + " of " +
                                                to_string(c[0].type()) + " of " + std::to_string(bits) + " bits");
  const DType dtype = c[2].dtype();
  const auto rows = [&](std::size_t i) { return c(op::take, {c[i], c[1]}, {{"axis", std::int64_t{*gather}}}); };
  const int axis = *quantize + (*quantize > *gather ? c[1].rank() - 1 : 0);
  const auto unpacked_rows = [&](std::size_t i) { return narrow ? rows(i) : unpacked_bits(c, rows(i), bits); };
  const Part numbers = c.as(dtype, unpacked_rows(0));
  Part zeros = c.number_as(dtype, narrow ? 0 : static_cast<double>(1 << (bits - 1)));
  if (c.has(3)) {
    const Part elements = unpacked_rows(3);
    const Part whole = piece(c, elements, axis, 0, wanted[static_cast<std::size_t>(*quantize)]);
    zeros = repeated(c, c.as(dtype, whole), axis, block, extent);
  }
  const Part scales = repeated(c, rows(2), axis, block, extent);
  return {c.multiply(c.subtract(numbers, zeros), scales)};
}

}  // namespace

std::span<const Lowering> contrib_block_weight_lowerings() {
  static constexpr Lowering kRows[] = {
      {"com.microsoft.GatherBlockQuantized", 1, gather_block_quantized},
      {"com.microsoft.MatMulNBits", 1, matmul_nbits},
  };
  return kRows;
}

}  // namespace cleave::models::onnx
