// Loops of vector functions (math-inl.h and the headers beside it) over contiguous operands; others are gathered piece by piece first. A
// function's `takes` says which arguments it supports; a vector with an unsupported argument is computed by the scalar reference. Included
// inside the anonymous namespace of an instruction set, so it includes nothing: the including file has included math-inl.h and
// graph/ops/elementwise.h.

template <class T>
inline constexpr std::size_t kPiece = 512 / sizeof(T) * 4;  ///< elements that are gathered at once

/// `count` contiguous elements: in place if step is 1, else gathered.
template <class T>
const T* side_by_side(const std::byte* from, std::int64_t step, std::int64_t begin, std::size_t count, T* gathered) {
  const T* elements = reinterpret_cast<const T*>(from) + begin * step;
  if (step == 1) return elements;
  for (std::size_t i = 0; i < count; ++i) gathered[i] = elements[static_cast<std::int64_t>(i) * step];
  return gathered;
}

template <class F, class D, class... V>
HWY_INLINE bool takes_all(D d, V... v) {
  if constexpr (requires { F::takes(d, v...); }) {
    return hn::AllTrue(d, F::takes(d, v...));
  } else {
    return true;
  }
}

/// Contiguous operands. A vector with an unsupported argument is computed by the scalar reference. `past_cache`: non-temporal stores to
/// results aligned to a vector.
template <class F, class Scalar, bool past_cache, class T>
void unary(const T* in, T* out, std::size_t count) {
  const hn::ScalableTag<T> d;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t i = 0; i < count; i += lanes) {
    const std::size_t left = std::min(lanes, count - i);
    const auto x = left == lanes ? hn::LoadU(d, in + i) : load_part(d, in + i, left);
    if (!takes_all<F>(d, x)) {
      for (std::size_t k = i; k < i + left; ++k) out[k] = ops::store<T>(Scalar::template apply<ops::Compute<T>>(ops::load(in[k])));
    } else if (left == lanes) {
      if constexpr (past_cache) {
        hn::Stream(F::of(d, x), d, out + i);
      } else {
        hn::StoreU(F::of(d, x), d, out + i);
      }
    } else {
      store_part(d, F::of(d, x), out + i, left);
    }
  }
}

template <class F, class Scalar, class T>
void binary(const T* a, const T* b, T* out, std::size_t count) {
  const hn::ScalableTag<T> d;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t i = 0; i < count; i += lanes) {
    const std::size_t left = std::min(lanes, count - i);
    const auto x = left == lanes ? hn::LoadU(d, a + i) : load_part(d, a + i, left, T(1));
    const auto y = left == lanes ? hn::LoadU(d, b + i) : load_part(d, b + i, left, T(1));
    if (!takes_all<F>(d, x, y)) {
      for (std::size_t k = i; k < i + left; ++k)
        out[k] = ops::store<T>(Scalar::template apply<ops::Compute<T>>(ops::load(a[k]), ops::load(b[k])));
    } else if (left == lanes) {
      hn::StoreU(F::of(d, x, y), d, out + i);
    } else {
      store_part(d, F::of(d, x, y), out + i, left);
    }
  }
}

template <class F, class Scalar, bool past_cache, class T>
void loop(const std::byte* const* operands, const std::int64_t* steps, std::byte* results, std::int64_t count) {
  T* out = reinterpret_cast<T*>(results);
  if constexpr (past_cache) {
    if (reinterpret_cast<std::uintptr_t>(results) % HWY_MAX_BYTES != 0) return loop<F, Scalar, false, T>(operands, steps, results, count);
  }
  const bool direct = steps[0] == 1 && (Scalar::arity == 1 || steps[1] == 1);
  const std::int64_t piece = direct ? count : static_cast<std::int64_t>(kPiece<T>);
  HWY_ALIGN T gathered[2][kPiece<T>];
  for (std::int64_t begin = 0; begin < count; begin += piece) {
    const auto size = static_cast<std::size_t>(std::min(piece, count - begin));
    const T* a = side_by_side(operands[0], steps[0], begin, size, gathered[0]);
    if constexpr (Scalar::arity == 1) {
      unary<F, Scalar, past_cache>(a, out + begin, size);
    } else {
      binary<F, Scalar>(a, side_by_side(operands[1], steps[1], begin, size, gathered[1]), out + begin, size);
    }
  }
}
