#include "executor/host/tile_reader.h"

#include <algorithm>
#include <cstring>

namespace cleave::runtime::host {

namespace {

template <std::size_t size>
void copy_apart(std::byte* to, const std::byte* from, std::int64_t count, std::int64_t step) {
  for (std::int64_t i = 0; i < count; ++i) std::memcpy(to + i * std::int64_t{size}, from + i * step * std::int64_t{size}, size);
}

}  // namespace

TileReader::TileReader(std::int64_t size, const ops::Strides& strides, const Shape& to) : size_(size) {
  for (std::size_t axis = to.size(); axis-- > 0;) {
    if (to[axis] == 1) continue;
    if (count_ > 0 && strides[axis] == step_[count_ - 1] * extent_[count_ - 1]) {
      extent_[count_ - 1] *= to[axis];
    } else {
      extent_[count_] = to[axis];
      step_[count_++] = strides[axis];
    }
  }
  if (count_ == 0) extent_[count_++] = 1;
}

TileOperand TileReader::read(const std::byte* data, std::int64_t begin, std::int64_t count, std::byte* scratch, bool side_by_side) const {
  if (!gathers()) return {data + begin * step_[0] * size_, step_[0]};
  const std::int64_t inside = begin % extent_[0];
  if (inside + count <= extent_[0] && plain() && !(side_by_side && step_[0] == 0)) {
    std::int64_t offset = inside * step_[0], rest = begin / extent_[0];
    for (std::size_t axis = 1; axis < count_; rest /= extent_[axis++]) offset += rest % extent_[axis] * step_[axis];
    return {data + offset * size_, step_[0]};
  }
  gather(data, begin, count, scratch);
  return {scratch, 1};
}

TileReader::OperandPosition TileReader::place(std::int64_t result) const {
  OperandPosition place;
  std::int64_t offset = 0;
  for (std::size_t axis = 0; axis < count_; result /= extent_[axis++]) {
    place.index[axis] = result % extent_[axis];
    offset += place.index[axis] * step_[axis];
  }
  place.offset = offset * size_;
  return place;
}

void TileReader::next_row(OperandPosition& place) const {
  std::int64_t offset = -extent_[0] * step_[0];
  place.index[0] = 0;
  for (std::size_t axis = 1; axis < count_; ++axis) {
    offset += step_[axis];
    if (++place.index[axis] < extent_[axis]) break;
    offset -= extent_[axis] * step_[axis];
    place.index[axis] = 0;
  }
  place.offset += offset * size_;
}

void TileReader::gather(const std::byte* data, std::int64_t begin, std::int64_t count, std::byte* scratch) const {
  for (OperandPosition at = place(begin); count > 0;) {
    const std::int64_t row = std::min(count, extent_[0] - at.index[0]);
    const std::byte* from = data + at.offset;
    const std::size_t bytes = static_cast<std::size_t>(row * size_);
    if (step_[0] == 1) {
      std::memcpy(scratch, from, bytes);
    } else if (step_[0] != 0) {
      switch (size_) {
        case 1: copy_apart<1>(scratch, from, row, step_[0]); break;
        case 2: copy_apart<2>(scratch, from, row, step_[0]); break;
        case 4: copy_apart<4>(scratch, from, row, step_[0]); break;
        default: copy_apart<8>(scratch, from, row, step_[0]);
      }
    } else {  // one element repeated: copies double until the row is full
      std::memcpy(scratch, from, static_cast<std::size_t>(size_));
      for (std::size_t done = static_cast<std::size_t>(size_); done < bytes; done *= 2)
        std::memcpy(scratch + done, scratch, std::min(done, bytes - done));
    }
    scratch += bytes;
    count -= row;
    advance(at, row);
  }
}

}  // namespace cleave::runtime::host
