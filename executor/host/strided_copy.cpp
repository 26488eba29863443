#include "executor/host/strided_copy.h"
#include "executor/host/long_copy.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace cleave::runtime::host {
namespace {

/// Bytes of one piece of the work, small enough that small copies are shared too, and the number of pieces aimed at.
constexpr std::int64_t kLeastPiece = 32 << 10, kMostPiece = 256 << 10, kPieces = 64;
/// Rows are divided among workers in multiples of it, so that square blocks stay whole.
constexpr std::int64_t kBlock = 64;

template <class T>
void copy_row(const T* from, T* to, std::int64_t count, std::int64_t from_step, std::int64_t to_step) {
  if (to_step == 1 && from_step == 1) {
    copy_long(to, from, count * static_cast<std::int64_t>(sizeof(T)));
  } else if (to_step == 1 && from_step == 0) {
    fill_long(to, count, *from);
  } else {
    each_long(count, [&](std::int64_t begin, std::int64_t end) {
      if (to_step == 1 && from_step == -1) {
        for (std::int64_t i = begin; i < end; ++i) to[i] = from[-i];
      } else {
        for (std::int64_t i = begin; i < end; ++i) to[i * to_step] = from[i * from_step];
      }
    });
  }
}

/// Writes each element `times` times in succession; `known`, if not 0, is `times` as a compile-time constant.
template <int known, class T>
void repeat_known(const T* from, T* to, std::int64_t count, std::int64_t times) {
  if (known != 0) times = known;
  for (std::int64_t i = 0; i < count; ++i)
    for (std::int64_t k = 0; k < times; ++k) to[i * times + k] = from[i];
}
template <class T>
void repeat_each(const T* from, T* to, std::int64_t count, std::int64_t times) {
  switch (times) {
    case 2: return repeat_known<2>(from, to, count, times);
    case 3: return repeat_known<3>(from, to, count, times);
    case 4: return repeat_known<4>(from, to, count, times);
    default: return repeat_known<0>(from, to, count, times);
  }
}

/// Transposes a square block with sides of one cache line: each line is read once and written once, however many of them map to the same
/// cache set.
template <class T>
void copy_square(const T* from, T* to, std::int64_t from_step, std::int64_t to_row) {
  constexpr std::int64_t kSide = 64 / sizeof(T);
  std::array<std::array<T, kSide>, kSide> square;
  for (std::int64_t j = 0; j < kSide; ++j) std::memcpy(square[j].data(), from + j * from_step, sizeof(square[j]));
  for (std::int64_t i = 0; i < kSide; ++i) {
    for (std::int64_t j = 0; j < kSide; ++j) to[i * to_row + j] = square[j][i];
  }
}

/// Copies two axes that source and target store in opposite order, in blocks that stay in the cache.
template <class T>
void copy_plane(const T* from, T* to, std::int64_t rows, std::int64_t from_row, std::int64_t to_row, std::int64_t count,
                std::int64_t from_step, std::int64_t to_step) {
  constexpr std::int64_t kSide = 64 / sizeof(T);
  StopLooks looks;
  for (std::int64_t r = 0; r < rows; r += kSide) {
    const std::int64_t r_end = std::min(rows, r + kSide);
    for (std::int64_t c = 0; c < count; c += kSide) {
      const std::int64_t c_end = std::min(count, c + kSide);
      looks.worked(kSide * kSide);
      if (from_row == 1 && to_step == 1 && r_end - r == kSide && c_end - c == kSide) {
        copy_square(from + r + c * from_step, to + r * to_row + c, from_step, to_row);
        continue;
      }
      for (std::int64_t i = r; i < r_end; ++i) {
        for (std::int64_t j = c; j < c_end; ++j) to[i * to_row + j * to_step] = from[i * from_row + j * from_step];
      }
    }
  }
}

}  // namespace

void StridedCopy::add(std::int64_t extent, std::int64_t from, std::int64_t to) {
  elements_ *= extent;
  if (extent == 1) return;
  if (count_ > 0) {
    Axis& outer = axes_[count_ - 1];
    if (outer.from == extent * from && outer.to == extent * to) {
      outer = {outer.extent * extent, from, to};
      return;
    }
  }
  axes_[count_++] = {extent, from, to};
}

void StridedCopy::run(const std::byte* from, std::byte* to, std::int64_t element, Workers& workers) const {
  if (elements_ == 0) return;
  switch (element) {
    case 1: return run_as(reinterpret_cast<const std::uint8_t*>(from), reinterpret_cast<std::uint8_t*>(to), workers);
    case 2: return run_as(reinterpret_cast<const std::uint16_t*>(from), reinterpret_cast<std::uint16_t*>(to), workers);
    case 4: return run_as(reinterpret_cast<const std::uint32_t*>(from), reinterpret_cast<std::uint32_t*>(to), workers);
    default: return run_as(reinterpret_cast<const std::uint64_t*>(from), reinterpret_cast<std::uint64_t*>(to), workers);
  }
}

/// Whether the source is denser along the last axis but one than along the last.
bool StridedCopy::crosswise() const {
  return axis(1).from != 0 && std::abs(axis(0).from) > std::abs(axis(1).from);
}

template <class T>
void StridedCopy::run_as(const T* from, T* to, Workers& workers) const {
  const Axis last = axis(0);
  const auto bytes = static_cast<std::int64_t>(sizeof(T)), row = bytes * last.extent;
  if (elements_ * bytes < Workers::kWorthwhileBytes) return rows(from, to, 0, elements_ / last.extent);
  const std::int64_t piece = std::clamp(elements_ * bytes / kPieces, kLeastPiece, kMostPiece);
  if (elements_ == last.extent) {  // one long row
    return workers.each_part(last.extent, piece / bytes, [&](std::int64_t begin, std::int64_t end) {
      copy_row(from + begin * last.from, to + begin * last.to, end - begin, last.from, last.to);
    });
  }
  std::int64_t grain = std::max<std::int64_t>(1, piece / row);
  if (crosswise()) grain = (grain + kBlock - 1) / kBlock * kBlock;
  workers.each_part(elements_ / last.extent, grain, [&](std::int64_t begin, std::int64_t end) { rows(from, to, begin, end); });
}

/// Copies rows `begin` to `end`, in runs of rows that differ only in the last axis but one.
template <class T>
void StridedCopy::rows(const T* from, T* to, std::int64_t begin, std::int64_t end) const {
  const Axis row = axis(1), last = axis(0);
  const bool blocks = crosswise(),
             repeats = last.from == 0 && last.to == 1 && row.from == 1 && row.to == last.extent && last.extent < StopLooks::kWork;
  while (begin < end) {
    std::int64_t rest = begin / row.extent, from_at = 0, to_at = 0;
    for (std::size_t outer = 2; outer < count_; ++outer) {
      const std::int64_t index = rest % axis(outer).extent;
      rest /= axis(outer).extent;
      from_at += index * axis(outer).from;
      to_at += index * axis(outer).to;
    }
    const std::int64_t first = begin % row.extent, run = std::min(end - begin, row.extent - first);
    const T* source = from + from_at + first * row.from;
    T* target = to + to_at + first * row.to;
    if (blocks) {
      copy_plane(source, target, run, row.from, row.to, last.extent, last.from, last.to);
    } else if (repeats) {
      repeat_each(source, target, run, last.extent);
    } else {
      for (std::int64_t i = 0; i < run; ++i) copy_row(source + i * row.from, target + i * row.to, last.extent, last.from, last.to);
    }
    begin += run;
  }
}

}  // namespace cleave::runtime::host
