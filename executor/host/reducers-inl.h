// The loops of reductions as templates, which the compiler vectorises: sums in lanes, columns side by side. Included inside a namespace,
// once for the instruction set of the whole program and once for each set of simd/, so it includes nothing: the including file has included
// <algorithm>, graph/ops/sums.h, executor/host/independent.h and executor/host/simd/reducers.h.

/// A reduction is four things: its State, the initial state, the state of one element (`lift`), and the combination of two states (`join`;
/// `b` comes from later elements than `a`).
template <class T>
struct SumOfElements {
  using State = ops::Accumulator<T>;
  static State start() { return State(0); }
  static State lift(T x) { return ops::widen(x); }
  static State join(State a, State b) { return a + b; }
};
template <class T>
struct ProductOfElements : SumOfElements<T> {
  using State = ops::Accumulator<T>;
  static State start() { return State(1); }
  static State join(State a, State b) { return a * b; }
};
template <class T>
struct AnyElement {
  using State = std::uint8_t;
  static State start() { return 0; }
  static State lift(T x) { return ops::load(x) != ops::Compute<T>(0); }
  static State join(State a, State b) { return a | b; }
};
template <class T>
struct AllElements : AnyElement<T> {
  using State = std::uint8_t;
  static State start() { return 1; }
  static State join(State a, State b) { return a & b; }
};
/// A NaN beats every number, and a later number does not replace it.
template <class T, bool largest>
struct ExtremeElement {
  using State = std::conditional_t<std::is_integral_v<T>, T, ops::Compute<T>>;
  static State start() {
    using Limits = std::numeric_limits<State>;
    if constexpr (std::is_floating_point_v<State>) return largest ? -Limits::infinity() : Limits::infinity();
    return largest ? Limits::lowest() : Limits::max();
  }
  static State lift(T x) { return static_cast<State>(x); }
  static bool beats(State b, State a) { return static_cast<bool>(static_cast<int>(largest ? b > a : b < a) | static_cast<int>(b != b)); }
  /// Written as two selections, each of which compiles to one instruction.
  static State join(State a, State b) {
    const State number = largest ? (b > a ? b : a) : (b < a ? b : a);
    return b != b ? b : number;
  }
};

template <class Of, class T, class S>
void take_rows_into(const T* in, std::int64_t rows, std::int64_t width, std::int64_t stride, S* states) {
  std::int64_t row = 0;
  for (; row + 4 <= rows; row += 4) {
    const T *a = in + row * stride, *b = a + stride, *c = b + stride, *d = c + stride;
    CLEAVE_INDEPENDENT
    for (std::int64_t j = 0; j < width; ++j) {
      states[j] = Of::join(states[j], Of::join(Of::join(Of::lift(a[j]), Of::lift(b[j])), Of::join(Of::lift(c[j]), Of::lift(d[j]))));
    }
  }
  for (; row < rows; ++row) {
    const T* a = in + row * stride;
    CLEAVE_INDEPENDENT
    for (std::int64_t j = 0; j < width; ++j) states[j] = Of::join(states[j], Of::lift(a[j]));
  }
}

/// Reduces a row in lanes, which are then combined as a tree.
template <class Of, class T, class S>
S row_state(const T* in, std::int64_t count, S state) {
  constexpr std::int64_t kLanes = 32;
  std::int64_t i = 0;
  if (count >= 2 * kLanes) {
    S lanes[kLanes];
    for (S& lane : lanes) lane = Of::start();
    i = count / kLanes * kLanes;
    take_rows_into<Of>(in, count / kLanes, kLanes, kLanes, lanes);
    for (std::int64_t half = kLanes / 2; half > 0; half /= 2) {
      for (std::int64_t j = 0; j < half; ++j) lanes[j] = Of::join(lanes[j], lanes[j + half]);
    }
    state = Of::join(state, lanes[0]);
  }
  for (; i < count; ++i) state = Of::join(state, Of::lift(in[i]));
  return state;
}

template <class Of, class T>
struct ReducerOf {
  using S = typename Of::State;
  static void start(std::byte* states, std::int64_t width) {
    for (std::int64_t j = 0; j < width; ++j) reinterpret_cast<S*>(states)[j] = Of::start();
  }
  static void take_lines(const std::byte* bytes, std::int64_t rows, std::int64_t count, std::byte* states) {
    const auto* in = reinterpret_cast<const T*>(bytes);
    auto* of = reinterpret_cast<S*>(states);
    for (std::int64_t row = 0; row < rows; ++row, in += count) of[row] = row_state<Of>(in, count, of[row]);
  }
  static void take_rows(const std::byte* in, std::int64_t rows, std::int64_t width, std::int64_t stride, std::byte* states) {
    take_rows_into<Of>(reinterpret_cast<const T*>(in), rows, width, stride, reinterpret_cast<S*>(states));
  }
  static void join(std::byte* states, const std::byte* later, std::int64_t width) {
    auto* of = reinterpret_cast<S*>(states);
    const auto* more = reinterpret_cast<const S*>(later);
    for (std::int64_t j = 0; j < width; ++j) of[j] = Of::join(of[j], more[j]);
  }
  static constexpr Reducer reducer{sizeof(S), start, take_lines, take_rows, join};
};

template <class T, bool largest>
struct FinderOf {
  using Of = ExtremeElement<T, largest>;
  using S = typename Of::State;
  static constexpr std::int64_t kGroup = 64;
  static int same(T x, S sought) {
    const S a = Of::lift(x);
    return static_cast<int>(a == sought) | (static_cast<int>(a != a) & static_cast<int>(sought != sought));
  }
  static bool holds(const T* group, S sought) {
    int found = 0;
    for (std::int64_t k = 0; k < kGroup; ++k) found |= same(group[k], sought);
    return found != 0;
  }
  /// Goes block by block: computes the block's extreme, and searches its position only if it beats the best so far.
  static std::int64_t in_row(const std::byte* bytes, std::int64_t count) {
    constexpr std::int64_t kBlock = 2048;
    const T* in = reinterpret_cast<const T*>(bytes);
    S best = Of::lift(in[0]);
    std::int64_t place = 0;
    for (std::int64_t begin = 0; begin < count && best == best; begin += kBlock) {
      const std::int64_t size = std::min(kBlock, count - begin);
      const S here = row_state<Of>(in + begin, size, Of::start());
      if (!Of::beats(here, best)) continue;
      best = here;
      place = begin;
      while (place + kGroup <= begin + size && !holds(in + place, here)) place += kGroup;
      while (!same(in[place], here)) ++place;
    }
    return place;
  }
  static void in_lines(const std::byte* in, std::int64_t rows, std::int64_t count, std::int32_t* places) {
    for (std::int64_t row = 0; row < rows; ++row, in += count * static_cast<std::int64_t>(sizeof(T)))
      places[row] = static_cast<std::int32_t>(in_row(in, count));
  }
  static void in_columns(const std::byte* bytes, std::int64_t rows, std::int64_t width, std::int64_t stride, std::int32_t* places) {
    using Place = std::conditional_t<sizeof(T) == 8, std::int64_t, std::int32_t>;  // as wide as the elements, for vectors
    const T* in = reinterpret_cast<const T*>(bytes);
    S best[ExtremeFinder::kMostWidth];
    Place at[ExtremeFinder::kMostWidth];
    for (std::int64_t j = 0; j < width; ++j) {
      best[j] = Of::lift(in[j]);
      at[j] = 0;
    }
    for (std::int64_t row = 1; row < rows; ++row) {
      const T* line = in + row * stride;
      const Place here = static_cast<Place>(row);
      CLEAVE_INDEPENDENT
      for (std::int64_t j = 0; j < width; ++j) {
        const S x = Of::lift(line[j]), a = best[j];
        const bool better = Of::beats(x, a) & (a == a);
        best[j] = better ? x : a;
        at[j] = better ? here : at[j];
      }
    }
    for (std::int64_t j = 0; j < width; ++j) places[j] = static_cast<std::int32_t>(at[j]);
  }
  static bool beats(const std::byte* b, const std::byte* a) {
    const S earlier = Of::lift(*reinterpret_cast<const T*>(a));
    return earlier == earlier && Of::beats(Of::lift(*reinterpret_cast<const T*>(b)), earlier);
  }
  static constexpr ExtremeFinder finder{in_row, in_lines, in_columns, beats, kGroup + 1};
};

/// Selects the instance for an element type; null for types without these loops.
template <template <class> class Takes>
const Reducer* reducer_on(DType element) {
  return dispatch(element, [](auto zero) -> const Reducer* {
    using T = decltype(zero);
    if constexpr (kLoopsFor<T>) {
      return &ReducerOf<Takes<T>, T>::reducer;
    } else {
      return nullptr;
    }
  });
}
template <bool largest>
const Reducer* extreme_on(DType element) {
  return dispatch(element, [](auto zero) -> const Reducer* {
    using T = decltype(zero);
    if constexpr (kLoopsFor<T> && !std::is_same_v<T, bool>) {
      return &ReducerOf<ExtremeElement<T, largest>, T>::reducer;
    } else {
      return nullptr;
    }
  });
}
template <bool largest>
const ExtremeFinder* finder_on(DType element) {
  return dispatch(element, [](auto zero) -> const ExtremeFinder* {
    using T = decltype(zero);
    if constexpr (kLoopsFor<T> && !std::is_same_v<T, bool>) {
      return &FinderOf<T, largest>::finder;
    } else {
      return nullptr;
    }
  });
}

inline const Reducer* find_sum(std::string_view op, DType element) {
  if (op == "sum" || op == "mean") return reducer_on<SumOfElements>(element);
  if (op == "prod") return reducer_on<ProductOfElements>(element);
  if (op == "any") return reducer_on<AnyElement>(element);
  return op == "all" ? reducer_on<AllElements>(element) : nullptr;
}
inline const Reducer* find_extreme(std::string_view op, DType element) {
  if (op == "max") return extreme_on<true>(element);
  return op == "min" ? extreme_on<false>(element) : nullptr;
}
inline const ExtremeFinder* find_place(std::string_view op, DType element) {
  if (op == "argmax") return finder_on<true>(element);
  return op == "argmin" ? finder_on<false>(element) : nullptr;
}
