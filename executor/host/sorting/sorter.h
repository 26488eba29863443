// The common part of the sorting kernels: gathers lines along an axis as items in scratch memory, sorts them, and writes the results.
#pragma once

#include "executor/device/kernel.h"
#include "executor/host/long_copy.h"
#include "executor/host/sorting/network.h"
#include "executor/host/sorting/radix.h"
#include "graph/base/stop.h"

namespace cleave::runtime::host {

/// The layout of lines along an axis: element k of line i is at start(i) + k * step.
struct Lines {
  std::int64_t extent = 1, step = 1, count = 1;

  Lines() = default;
  Lines(const Shape& shape, std::int64_t axis) {
    if (axis < 0) axis += static_cast<std::int64_t>(shape.size());
    for (std::int64_t a = 0; a < static_cast<std::int64_t>(shape.size()); ++a) {
      const std::int64_t size = shape[static_cast<std::size_t>(a)];
      if (a == axis) {
        extent = size;
      } else {
        count *= size;
        if (a > axis) step *= size;
      }
    }
  }
  [[nodiscard]] std::int64_t start(std::int64_t line) const { return line / step * step * extent + line % step; }
};

/// Restores the bits of -0 and NaNs, which keys do not keep: writes them in the order in which they stand in the input line.
template <class T>
void restore_twins(const T* line, T* out, std::int64_t extent, std::int64_t step, bool descending) {
  const auto range = [&](KeyOf<T> key) {
    std::int64_t low = 0, high = extent;  // the number of elements before `key`
    while (low < high) {
      const std::int64_t middle = (low + high) / 2;
      const KeyOf<T> other = key_of(out[middle * step]);
      (descending ? other > key : other < key) ? low = middle + 1 : high = middle;
    }
    return low;
  };
  std::int64_t zero = range(kZeroKey<T>), nan = range(kNaNKey<T>);
  each_long(extent, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k) {
      const KeyOf<T> key = key_of(line[k * step]);
      if (key == kZeroKey<T>) out[zero++ * step] = line[k * step];
      if (key == kNaNKey<T>) out[nan++ * step] = line[k * step];
    }
  });
}

/// Whether the element cannot be restored from its key.
template <class T>
bool loses_bits(T element) {
  if constexpr (!kHasTwins<T>) return false;
  const auto bits = std::bit_cast<KeyOf<T>>(element);
  return bits == kSign<T> || key_of(element) == kNaNKey<T>;
}

/// The memory of a sorting kernel: one buffer for each piece of the work that runs in parallel.
struct SortMemory {
  std::vector<Scratch> pieces;
  std::vector<Counts> counts;
};

/// Sorts every line and writes its elements or their positions.
template <class T, bool gives_positions>
class LineSort {
 public:
  static constexpr bool kValues = !gives_positions;
  using Out = std::conditional_t<gives_positions, std::int32_t, T>;
  using Kind = std::conditional_t<kValues, KeyItem<KeyOf<T>>, PlacedItem<KeyOf<T>>>;
  using Item = typename Kind::Item;

  LineSort(const T* in, Out* out, Lines lines, bool descending) : in_(in), out_(out), lines_(lines), descending_(descending) {}

  void run(Workers& workers, SortMemory& memory) const {
    if constexpr (std::is_integral_v<Item>) {
      // Requires lines for at least a quarter of the lanes.
      if (lines_.count * 4 >= kLanes<Item> && lines_.extent <= longest_lanes(sizeof(Item))) return run_lanes(workers, memory);
    }
    // Adjacent lines are read and written together, because they share cache lines.
    const std::int64_t side = std::min<std::int64_t>({lines_.step, 16, std::max<std::int64_t>(1, (1 << 18) / lines_.extent)});
    const std::int64_t groups = (lines_.step + side - 1) / side, tasks = lines_.count / lines_.step * groups;
    const bool few = tasks < workers.threads() && lines_.extent >= kSplitFrom;
    const std::int64_t pieces = few ? 1 : pieces_of(tasks, workers, memory);
    if (memory.pieces.empty()) memory.pieces.resize(1);
    workers.each(pieces, [&](std::int64_t piece) {
      Item* items = memory.pieces[static_cast<std::size_t>(piece)].template get<Item>((side + 1) * lines_.extent);
      for (std::int64_t task = tasks * piece / pieces; task < tasks * (piece + 1) / pieces; ++task) {
        const std::int64_t first = task / groups * lines_.step + task % groups * side;
        const std::int64_t wide = std::min(side, lines_.step - task % groups * side);
        sort_group(items, first, wide, few ? workers : Workers::none(), memory.counts);
      }
    });
  }

 private:
  /// Divides the work into pieces that run in parallel, with memory for each.
  std::int64_t pieces_of(std::int64_t tasks, const Workers& workers, SortMemory& memory) const {
    const bool small = lines_.count * lines_.extent * static_cast<std::int64_t>(sizeof(T)) < Workers::kWorthwhileBytes;
    const std::int64_t pieces = small ? 1 : std::min<std::int64_t>(tasks, workers.threads());
    if (static_cast<std::int64_t>(memory.pieces.size()) < pieces) memory.pieces.resize(static_cast<std::size_t>(pieces));
    return pieces;
  }

  /// Sorts short lines side by side.
  void run_lanes(Workers& workers, SortMemory& memory) const {
    const std::int64_t tasks = (lines_.count + kLanes<Item> - 1) / kLanes<Item>, pieces = pieces_of(tasks, workers, memory);
    workers.each(pieces, [&](std::int64_t piece) {
      Item* items = memory.pieces[static_cast<std::size_t>(piece)].template get<Item>(kLanes<Item> * lines_.extent);
      for (std::int64_t task = tasks * piece / pieces; task < tasks * (piece + 1) / pieces; ++task) {
        look_at_stop();
        sort_together(items, task * kLanes<Item>, std::min(kLanes<Item>, lines_.count - task * kLanes<Item>));
      }
    });
  }

  /// Calls `body(k, lane, place)` for each element of `wide` lines, in the order of memory.
  template <class Body>
  void each_element(std::int64_t first, std::int64_t wide, const Body& body) const {
    std::array<std::int64_t, kLanes<Item>> starts{};
    for (std::int64_t lane = 0; lane < wide; ++lane) starts[lane] = lines_.start(first + lane);
    if (lines_.step == 1) {
      for (std::int64_t lane = 0; lane < wide; ++lane) {
        for (std::int64_t k = 0; k < lines_.extent; ++k) body(k, lane, starts[lane] + k);
      }
    } else {
      for (std::int64_t k = 0; k < lines_.extent; ++k) {
        for (std::int64_t lane = 0; lane < wide; ++lane) body(k, lane, starts[lane] + k * lines_.step);
      }
    }
  }

  void sort_together(Item* items, std::int64_t first, std::int64_t wide) const {
    const KeyOf<T> flip = descending_ ? kNaNKey<T> : KeyOf<T>{0};
    if (wide < kLanes<Item>) std::fill_n(items, kLanes<Item> * lines_.extent, Item{0});
    bool lossy = false;
    each_element(first, wide, [&](std::int64_t k, std::int64_t lane, std::int64_t place) {
      items[k * kLanes<Item> + lane] = Kind::make(static_cast<KeyOf<T>>(key_of(in_[place]) ^ flip), static_cast<std::uint32_t>(k));
      if constexpr (kValues) lossy |= loses_bits(in_[place]);
    });
    sort_lanes(items, lines_.extent);
    each_element(first, wide, [&](std::int64_t k, std::int64_t lane, std::int64_t place) {
      const Item item = items[k * kLanes<Item> + lane];
      if constexpr (kValues) {
        out_[place] = element_of<T>(static_cast<KeyOf<T>>(item ^ flip));
      } else {
        out_[place] = static_cast<Out>(Kind::position(item));
      }
    });
    if constexpr (kValues && kHasTwins<T>) {
      for (std::int64_t lane = 0; lane < wide && lossy; ++lane) {
        const std::int64_t start = lines_.start(first + lane);
        restore_twins(in_ + start, out_ + start, lines_.extent, lines_.step, descending_);
      }
    }
  }

  void sort_group(Item* items, std::int64_t first, std::int64_t wide, Workers& workers, std::vector<Counts>& counts) const {
    const std::int64_t extent = lines_.extent, step = lines_.step, start = lines_.start(first);
    const KeyOf<T> flip = descending_ ? kNaNKey<T> : KeyOf<T>{0};
    Item* const other = items + wide * extent;
    bool lossy = false;
    each_long(extent, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t k = begin; k < end; ++k) {
        for (std::int64_t side = 0; side < wide; ++side) {
          const T element = in_[start + k * step + side];
          items[side * extent + k] = Kind::make(static_cast<KeyOf<T>>(key_of(element) ^ flip), static_cast<std::uint32_t>(k));
          if constexpr (kValues) lossy |= loses_bits(element);
        }
      }
    });
    const Item* sorted = items;
    for (std::int64_t side = 0; side < wide; ++side) {
      Item* line = items + side * extent;
      sorted = RadixSort<Kind>::run(line, other, extent, workers, counts);
      if (wide > 1 && sorted != line) std::copy(sorted, sorted + extent, line);
    }
    if (wide > 1) sorted = items;
    each_long(extent, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t k = begin; k < end; ++k) {
        for (std::int64_t side = 0; side < wide; ++side) {
          Out& out = out_[start + k * step + side];
          if constexpr (kValues) {
            out = element_of<T>(static_cast<KeyOf<T>>(sorted[side * extent + k] ^ flip));
          } else {
            out = static_cast<Out>(Kind::position(sorted[side * extent + k]));
          }
        }
      }
    });
    if constexpr (kValues && kHasTwins<T>) {
      for (std::int64_t side = 0; side < wide && lossy; ++side)
        restore_twins(in_ + start + side, out_ + start + side, extent, step, descending_);
    }
  }

  const T* in_;
  Out* out_;
  Lines lines_;
  bool descending_;
};

}  // namespace cleave::runtime::host
