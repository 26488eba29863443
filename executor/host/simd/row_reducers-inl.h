// Row reductions of f32 and f64 with explicit vectors in registers, where reducers-inl.h leaves vectorisation to the compiler. Included
// after it, inside the namespace of an instruction set, so it includes nothing: the including file has included Highway.

namespace hn = hwy::HWY_NAMESPACE;

/// Sums in four vectors of doubles, which are then added pairwise.
template <class T>
HWY_INLINE double sum_of(const T* in, std::int64_t count) {
  const hn::ScalableTag<double> d;
  const hn::Rebind<T, decltype(d)> dt;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto at = [&](std::int64_t i) HWY_ATTR {
    if constexpr (std::is_same_v<T, float>) {
      return hn::PromoteTo(d, hn::LoadU(dt, in + i));
    } else {
      return hn::LoadU(d, in + i);
    }
  };
  auto a = hn::Zero(d), b = a, c = a, e = a;
  std::int64_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    a = hn::Add(a, at(i));
    b = hn::Add(b, at(i + lanes));
    c = hn::Add(c, at(i + 2 * lanes));
    e = hn::Add(e, at(i + 3 * lanes));
  }
  for (; i + lanes <= count; i += lanes) a = hn::Add(a, at(i));
  double sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(a, b), hn::Add(c, e))));
  for (; i < count; ++i) sum += static_cast<double>(in[i]);
  return sum;
}

template <class T>
void sum_lines(const std::byte* bytes, std::int64_t rows, std::int64_t count, std::byte* states) {
  const auto* in = reinterpret_cast<const T*>(bytes);
  auto* sums = reinterpret_cast<double*>(states);
  for (std::int64_t row = 0; row < rows; ++row, in += count) sums[row] += sum_of(in, count);
}

/// Takes eight rows at once, so that sums are loaded and stored seldom.
template <class T>
void sum_rows(const std::byte* bytes, std::int64_t rows, std::int64_t width, std::int64_t stride, std::byte* states) {
  constexpr std::int64_t kRows = 8;
  const hn::ScalableTag<double> d;
  const hn::Rebind<T, decltype(d)> dt;
  const auto* in = reinterpret_cast<const T*>(bytes);
  auto* sums = reinterpret_cast<double*>(states);
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto pair = [&](const T* from) HWY_ATTR {
    if constexpr (std::is_same_v<T, float>) {
      return hn::Add(hn::PromoteTo(d, hn::LoadU(dt, from)), hn::PromoteTo(d, hn::LoadU(dt, from + stride)));
    } else {
      return hn::Add(hn::LoadU(d, from), hn::LoadU(d, from + stride));
    }
  };
  const auto pair_of_one = [&](const T* from) { return static_cast<double>(from[0]) + static_cast<double>(from[stride]); };
  std::int64_t row = 0;
  for (; row + kRows <= rows; row += kRows) {
    const T* from = in + row * stride;
    std::int64_t j = 0;
    for (; j + lanes <= width; j += lanes, from += lanes) {
      const auto first = hn::Add(pair(from), pair(from + 2 * stride)), last = hn::Add(pair(from + 4 * stride), pair(from + 6 * stride));
      hn::StoreU(hn::Add(hn::LoadU(d, sums + j), hn::Add(first, last)), d, sums + j);
    }
    for (; j < width; ++j, ++from) {
      sums[j] += (pair_of_one(from) + pair_of_one(from + 2 * stride)) + (pair_of_one(from + 4 * stride) + pair_of_one(from + 6 * stride));
    }
  }
  ReducerOf<SumOfElements<T>, T>::take_rows(reinterpret_cast<const std::byte*>(in + row * stride), rows - row, width, stride, states);
}

/// The extreme of a row, or NaN if there is one.
template <class T, bool largest>
HWY_INLINE T extreme_of(const T* in, std::int64_t count) {
  using Of = ExtremeElement<T, largest>;
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto better = [](auto x, auto best) HWY_ATTR { return largest ? hn::Max(x, best) : hn::Min(x, best); };
  if (count < lanes) {
    T best = Of::start();
    for (std::int64_t i = 0; i < count; ++i) best = Of::join(best, in[i]);
    return best;
  }
  // The last vector may overlap the one before, which does not change an extreme.
  auto a = hn::LoadU(d, in + count - lanes), b = a;
  auto wrong = hn::IsNaN(a);
  for (std::int64_t i = 0; i + lanes < count; i += 2 * lanes) {
    const auto x = hn::LoadU(d, in + i), y = hn::LoadU(d, in + (i + 2 * lanes <= count ? i + lanes : count - lanes));
    a = better(x, a);
    b = better(y, b);
    wrong = hn::Or(wrong, hn::Or(hn::IsNaN(x), hn::IsNaN(y)));
  }
  if (!hn::AllFalse(d, wrong)) return std::numeric_limits<T>::quiet_NaN();
  a = better(a, b);
  return hn::GetLane(largest ? hn::MaxOfLanes(d, a) : hn::MinOfLanes(d, a));
}

template <class T, bool largest>
void extreme_lines(const std::byte* bytes, std::int64_t rows, std::int64_t count, std::byte* states) {
  const auto* in = reinterpret_cast<const T*>(bytes);
  auto* of = reinterpret_cast<T*>(states);
  for (std::int64_t row = 0; row < rows; ++row, in += count)
    of[row] = ExtremeElement<T, largest>::join(of[row], extreme_of<T, largest>(in, count));
}

constexpr std::int64_t kLeastLine = 16;  ///< measured with AVX2 and AVX-512

/// The first position of `sought`, which must be present.
template <class T>
HWY_INLINE std::int64_t first_place(const T* in, std::int64_t count, T sought) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto wanted = hn::Set(d, sought);
  std::int64_t i = 0;
  if (sought == sought) {
    for (; i + lanes <= count; i += lanes) {
      if (!hn::AllFalse(d, hn::Eq(hn::LoadU(d, in + i), wanted))) break;
    }
  }
  while (in[i] != sought && (in[i] == in[i] || sought == sought)) ++i;
  return i;
}

/// Like first_place without data-dependent branches, for rows from one vector to 64 elements.
template <class T>
HWY_INLINE std::int64_t place_by_bits(const T* in, std::int64_t count, T sought) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto wanted = hn::Set(d, sought);
  const auto bits_at = [&](std::int64_t i) HWY_ATTR {
    std::uint8_t bytes[8] = {};
    hn::StoreMaskBits(d, hn::Eq(hn::LoadU(d, in + i), wanted), bytes);
    std::uint64_t bits;
    std::memcpy(&bits, bytes, sizeof bits);
    return bits << i;
  };
  std::uint64_t found = bits_at(count - lanes);
  for (std::int64_t i = 0; i + lanes < count; i += lanes) found |= bits_at(i);
  return std::countr_zero(found);
}

/// Goes block by block: computes the block's extreme, and searches its position only if it beats the best so far.
template <class T, bool largest>
HWY_INLINE std::int64_t place_in(const T* in, std::int64_t count) {
  constexpr std::int64_t kBlock = 1024;
  T best = in[0];
  std::int64_t place = 0;
  for (std::int64_t begin = 0; begin < count && best == best; begin += kBlock) {
    const std::int64_t size = std::min(kBlock, count - begin);
    const T here = extreme_of<T, largest>(in + begin, size);
    if (!ExtremeElement<T, largest>::beats(here, best)) continue;
    best = here;
    place = begin + first_place(in + begin, size, here);
  }
  return place;
}

template <class T, bool largest>
std::int64_t place_in_row(const std::byte* bytes, std::int64_t count) {
  return place_in<T, largest>(reinterpret_cast<const T*>(bytes), count);
}
template <class T, bool largest>
void places_in_lines(const std::byte* bytes, std::int64_t rows, std::int64_t count, std::int32_t* places) {
  const auto* in = reinterpret_cast<const T*>(bytes);
  const bool by_bits = count <= 64 && count >= static_cast<std::int64_t>(hn::Lanes(hn::ScalableTag<T>()));
  for (std::int64_t row = 0; row < rows; ++row, in += count) {
    const T best = by_bits ? extreme_of<T, largest>(in, count) : T(0);
    const bool bits = by_bits && best == best;
    places[row] = static_cast<std::int32_t>(bits ? place_by_bits(in, count, best) : place_in<T, largest>(in, count));
  }
}

template <class T, bool largest, class Plain = FinderOf<T, largest>>
constexpr ExtremeFinder kRowFinder{place_in_row<T, largest>, places_in_lines<T, largest>, Plain::in_columns, Plain::beats, kLeastLine};

template <class T>
constexpr Reducer kRowSum{sizeof(double), ReducerOf<SumOfElements<T>, T>::start, sum_lines<T>, sum_rows<T>,
                          ReducerOf<SumOfElements<T>, T>::join};
template <class T, bool largest, class Plain = ReducerOf<ExtremeElement<T, largest>, T>>
constexpr Reducer kRowExtreme{sizeof(T), Plain::start, extreme_lines<T, largest>, Plain::take_rows, Plain::join};
