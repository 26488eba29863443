#include "executor/cuda/kernels/pieces.h"

#include <cstring>

#include "graph/ops/convert.h"

namespace cleave::runtime::cuda {

std::int64_t piece_bytes(std::int64_t bytes, std::int64_t widest) {
  while (bytes % widest != 0) widest /= 2;
  return widest;
}

std::string piece_type(std::int64_t bytes) {
  switch (bytes) {
    case 16: return "Pack<u64, 2>";
    case 8: return "u64";
    case 4: return "u32";
    case 2: return "u16";
    default: return "u8";
  }
}

KernelRequest of_bytes(const KernelRequest& request) {
  KernelRequest bytes = request;
  for (TensorType& type : bytes.input_types) type.dtype = DType::u8;
  for (TensorType& type : bytes.result_types) type.dtype = DType::u8;
  return bytes;
}

std::int64_t repeated_bits(const AttributeValue& value, DType dtype) {
  std::int64_t bits = 0;
  dispatch(dtype, [&](auto zero) {
    using T = decltype(zero);
    T element{};
    if (const auto* truth = std::get_if<bool>(&value)) element = ops::convert<T>(*truth);
    if (const auto* integer = std::get_if<std::int64_t>(&value)) element = ops::convert<T>(*integer);
    if (const auto* number = std::get_if<double>(&value)) element = ops::convert<T>(*number);
    for (std::size_t at = 0; at < sizeof bits; at += sizeof element)
      std::memcpy(reinterpret_cast<char*>(&bits) + at, &element, sizeof element);
  });
  return bits;
}

void declare_piece(KernelText& kernel, const std::string& name, std::int64_t bytes, std::int64_t bits) {
  kernel << "  const " << piece_type(bytes) << " " << name << " = ";
  if (bytes == kWidestPiece) {
    const std::string half = "(u64)" + kernel.constant(bits);
    kernel << "{{" << half << ", " << half << "}};\n";
  } else {
    kernel << "(" << piece_type(bytes) << ")" << kernel.constant(bits) << ";\n";
  }
}

}  // namespace cleave::runtime::cuda
