// Reducers of f16 and bf16, made from those of f32, whose states they share: elements are widened to f32 piece by piece. Included after
// those, inside the namespace of an instruction set, so it includes nothing: the including file has included halves-inl.h.

template <class H, const Reducer& single>
struct HalfReducer {
  /// Takes several short rows at once, or a long one block by block.
  static void take_lines(const std::byte* in, std::int64_t rows, std::int64_t count, std::byte* states) {
    alignas(64) float wide[Reducer::kBlock];
    const auto* from = reinterpret_cast<const H*>(in);
    const std::int64_t down = std::max<std::int64_t>(1, Reducer::kBlock / std::max<std::int64_t>(1, count));
    for (std::int64_t row = 0; row < rows; row += down) {
      const std::int64_t lines = std::min(down, rows - row), block = std::min(count, Reducer::kBlock);
      for (std::int64_t begin = 0; begin < count; begin += block) {
        const std::int64_t size = std::min(block, count - begin);
        halves::widen(from + row * count + begin, wide, lines * size);
        single.take_lines(reinterpret_cast<const std::byte*>(wide), lines, size, states + row * single.state_size);
      }
    }
  }
  /// Takes a block of rows and columns at a time, so that states are loaded and stored seldom.
  static void take_rows(const std::byte* in, std::int64_t rows, std::int64_t width, std::int64_t stride, std::byte* states) {
    constexpr std::int64_t kRows = 8, kWidth = 512;
    alignas(64) float wide[kRows * kWidth];
    for (std::int64_t column = 0; column < width; column += kWidth) {
      const std::int64_t across = std::min(kWidth, width - column);
      for (std::int64_t row = 0; row < rows; row += kRows) {
        const std::int64_t down = std::min(kRows, rows - row);
        const H* from = reinterpret_cast<const H*>(in) + row * stride + column;
        for (std::int64_t r = 0; r < down; ++r) halves::widen(from + r * stride, wide + r * across, across);
        single.take_rows(reinterpret_cast<const std::byte*>(wide), down, across, across, states + column * single.state_size);
      }
    }
  }
  static constexpr Reducer reducer{single.state_size, single.start, take_lines, take_rows, single.join};
};

template <class H, const ExtremeFinder& single>
struct HalfExtremeFinder {
  static bool beats(const std::byte* b, const std::byte* a) {
    const float later = static_cast<float>(*reinterpret_cast<const H*>(b)), earlier = static_cast<float>(*reinterpret_cast<const H*>(a));
    return single.beats(reinterpret_cast<const std::byte*>(&later), reinterpret_cast<const std::byte*>(&earlier));
  }
  static std::int64_t in_row(const std::byte* in, std::int64_t count) {
    constexpr std::int64_t kBlock = 2048;
    alignas(64) float wide[kBlock];
    const auto* from = reinterpret_cast<const H*>(in);
    std::int64_t place = 0;
    for (std::int64_t begin = 0; begin < count; begin += kBlock) {
      const std::int64_t size = std::min(kBlock, count - begin);
      halves::widen(from + begin, wide, size);
      const std::int64_t here = begin + single.in_row(reinterpret_cast<const std::byte*>(wide), size);
      if (beats(reinterpret_cast<const std::byte*>(from + here), reinterpret_cast<const std::byte*>(from + place))) place = here;
    }
    return place;
  }
  static void in_lines(const std::byte* in, std::int64_t rows, std::int64_t count, std::int32_t* places) {
    for (std::int64_t row = 0; row < rows; ++row, in += count * static_cast<std::int64_t>(sizeof(H)))
      places[row] = static_cast<std::int32_t>(in_row(in, count));
  }
  static void in_columns(const std::byte* in, std::int64_t rows, std::int64_t width, std::int64_t stride, std::int32_t* places) {
    constexpr std::int64_t kRows = 16;
    alignas(64) float wide[kRows * ExtremeFinder::kMostWidth];
    std::int32_t here[ExtremeFinder::kMostWidth];
    const auto* from = reinterpret_cast<const H*>(in);
    for (std::int64_t row = 0; row < rows; row += kRows) {
      const std::int64_t down = std::min(kRows, rows - row);
      for (std::int64_t r = 0; r < down; ++r) halves::widen(from + (row + r) * stride, wide + r * width, width);
      single.in_columns(reinterpret_cast<const std::byte*>(wide), down, width, width, row == 0 ? places : here);
      for (std::int64_t j = 0; row > 0 && j < width; ++j) {
        const H *found = from + (row + here[j]) * stride + j, *best = from + places[j] * stride + j;
        if (beats(reinterpret_cast<const std::byte*>(found), reinterpret_cast<const std::byte*>(best)))
          places[j] = static_cast<std::int32_t>(row) + here[j];
      }
    }
  }
  static constexpr ExtremeFinder finder{in_row, in_lines, in_columns, beats, single.least_line};
};

template <const Reducer& single>
const Reducer* half_reducer(DType element) {
  if (element == DType::f16) return &HalfReducer<Half, single>::reducer;
  return element == DType::bf16 ? &HalfReducer<BFloat16, single>::reducer : nullptr;
}
template <const ExtremeFinder& single>
const ExtremeFinder* half_finder(DType element) {
  if (element == DType::f16) return &HalfExtremeFinder<Half, single>::finder;
  return element == DType::bf16 ? &HalfExtremeFinder<BFloat16, single>::finder : nullptr;
}
