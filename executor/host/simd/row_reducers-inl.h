// A row of f32 or f64 taken in by vectors that stay in registers, where the loops of reducers-inl.h leave the compiler to choose. Included
// behind those, inside the namespace of an instruction set, so it includes nothing: whoever does has read Highway.

namespace hn = hwy::HWY_NAMESPACE;

/// In four vectors of doubles, which become one pair by pair.
template <class T>
void sum_row(const std::byte* bytes, std::int64_t count, std::byte* state) {
  const hn::ScalableTag<double> d;
  const hn::Rebind<T, decltype(d)> dt;
  const auto* in = reinterpret_cast<const T*>(bytes);
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
  double& sum = *reinterpret_cast<double*>(state);
  sum += hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(a, b), hn::Add(c, e))));
  for (; i < count; ++i) sum += static_cast<double>(in[i]);
}

/// Eight rows at once, so that sums are read and written seldom.
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

/// The extreme number of a row, or a NaN where there is one.
template <class T, bool largest>
T extreme_of(const T* in, std::int64_t count) {
  using Of = ExtremeElement<T, largest>;
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto better = [](auto x, auto best) HWY_ATTR { return largest ? hn::Max(x, best) : hn::Min(x, best); };
  T best = Of::start();
  std::int64_t i = 0;
  if (count >= 2 * lanes) {
    auto a = hn::Set(d, best), b = a;
    auto wrong = hn::IsNaN(a);
    for (; i + 2 * lanes <= count; i += 2 * lanes) {
      const auto x = hn::LoadU(d, in + i), y = hn::LoadU(d, in + i + lanes);
      a = better(x, a);
      b = better(y, b);
      wrong = hn::Or(wrong, hn::Or(hn::IsNaN(x), hn::IsNaN(y)));
    }
    if (!hn::AllFalse(d, wrong)) return std::numeric_limits<T>::quiet_NaN();
    a = better(a, b);
    best = hn::GetLane(largest ? hn::MaxOfLanes(d, a) : hn::MinOfLanes(d, a));
  }
  for (; i < count; ++i) best = Of::join(best, in[i]);
  return best;
}

template <class T, bool largest>
void extreme_row(const std::byte* bytes, std::int64_t count, std::byte* state) {
  T& of = *reinterpret_cast<T*>(state);
  of = ExtremeElement<T, largest>::join(of, extreme_of<T, largest>(reinterpret_cast<const T*>(bytes), count));
}

/// Where `sought` is first; it is there.
template <class T>
std::int64_t first_place(const T* in, std::int64_t count, T sought) {
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

/// Block by block: its extreme, and only where that beats what was found, where it is.
template <class T, bool largest>
std::int64_t place_in_row(const std::byte* bytes, std::int64_t count) {
  constexpr std::int64_t kBlock = 1024;
  const T* in = reinterpret_cast<const T*>(bytes);
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
constexpr Finder kRowFinder{place_in_row<T, largest>, FinderOf<T, largest>::in_columns, FinderOf<T, largest>::beats};

template <class T>
constexpr Reducer kRowSum{sizeof(double), ReducerOf<SumOfElements<T>, T>::start, sum_row<T>, sum_rows<T>,
                          ReducerOf<SumOfElements<T>, T>::join};
template <class T, bool largest, class Plain = ReducerOf<ExtremeElement<T, largest>, T>>
constexpr Reducer kRowExtreme{sizeof(T), Plain::start, extreme_row<T, largest>, Plain::take_rows, Plain::join};
