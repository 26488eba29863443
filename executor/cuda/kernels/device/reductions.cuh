// What reductions compute, as monoids: where they start, what they make of one element, how two partial results merge, what is written.
// As in graph/ops/reduction.cpp, sums are taken in f64 or in 64-bit integers that wrap.

template <class T, bool floating = TypesOf<T>::floating>
struct TotalOf {
  typedef f64 type;
};
template <class T>
struct TotalOf<T, false> {
  typedef u64 type;
};
template <class T>
struct Summing {
  typedef typename TotalOf<T>::type Part;
  static Part of(T element) { return (Part)plain(widen(element)); }
  template <class R>
  static R finish(Part part, i64) {
    return store<R>(Wide<T>(part));
  }
};
template <class T>
struct reduce_sum : Summing<T> {
  typedef typename Summing<T>::Part Part;
  static Part start() { return 0; }
  static Part merge(Part a, Part b) { return a + b; }
};
template <class T>
struct reduce_mean : reduce_sum<T> {
  template <class R>
  static R finish(f64 part, i64 count) {
    return store<R>(part / (f64)count);
  }
};
template <class T>
struct reduce_prod : Summing<T> {
  typedef typename Summing<T>::Part Part;
  static Part start() { return 1; }
  static Part merge(Part a, Part b) { return a * b; }
};

/// The ends of a type, as a number of four bytes at least. f16 and bf16 compare as f32.
template <class T, bool floating = TypesOf<T>::floating>
struct Ends {
  typedef decltype(plain(load(T()))) Part;
  static Part low() { return (Part)-__longlong_as_double(0x7ff0000000000000LL); }
  static Part high() { return (Part)__longlong_as_double(0x7ff0000000000000LL); }
};
template <class T>
struct Ends<T, false> {
  typedef decltype(T() + 0) Part;
  static Part low() { return (Part)Limits<T>::low; }
  static Part high() { return (Part)Limits<T>::high; }
};
template <class T>
struct Comparing {
  typedef typename Ends<T>::Part Part;
  static Part of(T element) { return plain(load(element)); }
  template <class R>
  static R finish(Part part, i64) {
    return store<R>(Compute<T>(part));
  }
};
/// NaN beats every number.
template <class T>
struct reduce_max : Comparing<T> {
  typedef typename Comparing<T>::Part Part;
  static Part start() { return Ends<T>::low(); }
  static Part merge(Part a, Part b) { return a != a || a >= b ? a : b; }
};
template <class T>
struct reduce_min : Comparing<T> {
  typedef typename Comparing<T>::Part Part;
  static Part start() { return Ends<T>::high(); }
  static Part merge(Part a, Part b) { return a != a || a <= b ? a : b; }
};

/// The first largest or smallest element; a NaN beats every number.
template <class T>
struct Place {
  typename Ends<T>::Part value;
  i32 index;  ///< negative: none yet
};
template <class T, bool largest>
struct Placing {
  typedef Place<T> Part;
  static Part start() {
    Part part;
    part.value = 0;
    part.index = -1;
    return part;
  }
  static Part of(T element, i64 index) {
    Part part;
    part.value = plain(load(element));
    part.index = (i32)index;
    return part;
  }
  static Part merge(Part a, Part b) {
    if (a.index < 0 || b.index < 0) return a.index < 0 ? b : a;
    const bool a_nan = a.value != a.value, b_nan = b.value != b.value, a_first = a.index < b.index;
    if (a_nan || b_nan) return a_nan && (!b_nan || a_first) ? a : b;
    if (a.value == b.value) return a_first ? a : b;
    return (a.value > b.value) == largest ? a : b;
  }
  template <class R>
  static R finish(Part part, i64) {
    return store<R>(Wrapping<i32>(part.index));
  }
};
template <class T>
struct reduce_argmax : Placing<T, true> {};
template <class T>
struct reduce_argmin : Placing<T, false> {};

template <class T>
struct Testing {
  typedef u32 Part;
  static Part of(T element) { return widen(element) != Wide<T>(0); }
  template <class R>
  static R finish(Part part, i64) {
    return store<R>(part != 0);
  }
};
template <class T>
struct reduce_any : Testing<T> {
  static u32 start() { return 0; }
  static u32 merge(u32 a, u32 b) { return a | b; }
};
template <class T>
struct reduce_all : Testing<T> {
  static u32 start() { return 1; }
  static u32 merge(u32 a, u32 b) { return a & b; }
};

/// The parts of `along` threads, `apart` threads from each other, merged into that of the first: always in the same order.
template <class Op, int along, int apart>
inline typename Op::Part merge_parts(typename Op::Part part, typename Op::Part* shared, int place) {
  shared[threadIdx.x] = part;
#pragma unroll
  for (int half = along / 2; half > 0; half /= 2) {
    __syncthreads();
    if (place < half) shared[threadIdx.x] = Op::merge(shared[threadIdx.x], shared[threadIdx.x + half * apart]);
  }
  return shared[threadIdx.x];
}
