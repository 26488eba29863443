#include "graph/ops/strided.h"
#include "graph/base/stop.h"

#include <algorithm>
#include <cstring>

namespace cleave::ops {

Strides broadcast_strides(const Shape& from, const Shape& to) {
  const Strides own = row_major_strides(from);
  Strides strides(to.size(), 0);
  const std::size_t lead = to.size() - from.size();
  for (std::size_t axis = 0; axis < from.size(); ++axis) strides[lead + axis] = from[axis] == 1 ? 0 : own[axis];
  return strides;
}

void walk(const Shape& shape, std::span<const Strides> operands, const Row& row) {
  for (const std::int64_t extent : shape) {
    if (extent == 0) return;
  }
  std::vector<std::int64_t> offsets(operands.size(), 0);
  std::vector<std::int64_t> steps(operands.size(), 0);
  if (shape.empty()) return row(offsets, 1, steps);
  const std::size_t last = shape.size() - 1;
  for (std::size_t k = 0; k < operands.size(); ++k) steps[k] = operands[k][last];
  std::vector<std::int64_t> index(last, 0);
  constexpr std::int64_t kLongest = 1 << 16;
  std::vector<std::int64_t> part(operands.size(), 0);
  StopLooks looks;
  for (;;) {
    looks.worked(std::min(shape[last], kLongest));
    if (shape[last] <= kLongest) row(offsets, shape[last], steps);
    for (std::int64_t begin = 0; begin < shape[last] && shape[last] > kLongest; begin += kLongest) {
      look_at_stop();
      for (std::size_t k = 0; k < operands.size(); ++k) part[k] = offsets[k] + begin * steps[k];
      row(part, std::min(kLongest, shape[last] - begin), steps);
    }
    std::size_t axis = last;
    for (; axis > 0; --axis) {  // advance the index like an odometer
      const std::size_t a = axis - 1;
      const bool carry = ++index[a] == shape[a];
      for (std::size_t k = 0; k < operands.size(); ++k) offsets[k] += operands[k][a] * (carry ? 1 - shape[a] : 1);
      if (!carry) break;
      index[a] = 0;
    }
    if (axis == 0) return;
  }
}

void copy(const Shape& shape, const Array& source, const View& from, Array& target, const View& to) {
  const std::int64_t size = size_of(source.dtype());
  const std::byte* in = source.bytes();
  std::byte* out = target.mutable_bytes();
  const Strides strides[] = {from.strides, to.strides};
  walk(shape, strides, [&](std::span<const std::int64_t> offsets, std::int64_t count, std::span<const std::int64_t> steps) {
    for (std::int64_t i = 0; i < count; ++i) {
      std::memcpy(out + (to.offset + offsets[1] + i * steps[1]) * size, in + (from.offset + offsets[0] + i * steps[0]) * size,
                  static_cast<std::size_t>(size));
    }
  });
}

void copy(const Array& source, const View& from, Array& target) {
  copy(target.shape(), source, from, target, {0, row_major_strides(target.shape())});
}

}  // namespace cleave::ops
