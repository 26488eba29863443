// Reductions as monoids: the initial value, how one element is added, how two partial results merge, and the result that is written; and
// how the partial results of a team of threads merge (device/lines.cuh). As in graph/ops/reduction.cpp, sums are taken in f64 or in 64-bit
// integers that wrap. Values are selected without branches.

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
  static Part take(Part part, T element, i64) { return part + Summing<T>::of(element); }
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
  static Part take(Part part, T element, i64) { return part * Summing<T>::of(element); }
};

/// The lowest and highest value of a type, as numbers of at least four bytes. f16 and bf16 compare as f32.
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
/// A NaN wins over every number.
template <class T>
struct reduce_max : Comparing<T> {
  typedef typename Comparing<T>::Part Part;
  static Part start() { return Ends<T>::low(); }
  static Part merge(Part a, Part b) { return (a != a) | (a >= b) ? a : b; }
  static Part take(Part part, T element, i64) { return merge(part, Comparing<T>::of(element)); }
};
template <class T>
struct reduce_min : Comparing<T> {
  typedef typename Comparing<T>::Part Part;
  static Part start() { return Ends<T>::high(); }
  static Part merge(Part a, Part b) { return (a != a) | (a <= b) ? a : b; }
  static Part take(Part part, T element, i64) { return merge(part, Comparing<T>::of(element)); }
};

/// The first largest or smallest element; a NaN wins over every number. An element at the limit of its type is not better than the initial
/// value, which keeps the index `none`, greater than all others. If that is the result, all elements are equal, and the first is at 0.
template <class T>
struct IndexedValue {
  typename Ends<T>::Part value;
  i32 index;
};
template <class T>
inline IndexedValue<T> of_lane(IndexedValue<T> part, int far) {
  IndexedValue<T> other;
  other.value = of_lane(part.value, far);
  other.index = of_lane(part.index, far);
  return other;
}
template <class T, bool largest>
struct Placing {
  typedef IndexedValue<T> Part;
  static const i32 none = 0x7fffffff;
  static Part start() {
    Part part;
    part.value = largest ? Ends<T>::low() : Ends<T>::high();
    part.index = none;
    return part;
  }
  static Part select(bool second, Part a, Part b) {
    a.value = second ? b.value : a.value;
    a.index = second ? b.index : a.index;
    return a;
  }
  /// A number is better than a smaller (larger) one, a NaN than a number.
  template <class V>
  static bool better(V b, V a) {
    return !(largest ? b <= a : b >= a) & (a == a);
  }
  /// A thread takes its elements in the order of their indices.
  static Part take(Part part, T element, i64 index) {
    Part other;
    other.value = plain(load(element));
    other.index = (i32)index;
    return select(better(other.value, part.value), part, other);
  }
  static Part merge(Part a, Part b) {
    const bool same = (a.value == b.value) | ((a.value != a.value) & (b.value != b.value));
    return select(better(b.value, a.value) | (same & (b.index < a.index)), a, b);
  }
  template <class R>
  static R finish(Part part, i64) {
    return store<R>(Wrapping<i32>(part.index == none ? 0 : part.index));
  }
};
template <class T>
struct reduce_argmax : Placing<T, true> {};
template <class T>
struct reduce_argmin : Placing<T, false> {};

template <class T>
struct Testing {
  typedef u32 Part;
  static Part of(T element) { return load(element) != Compute<T>(0); }
  template <class R>
  static R finish(Part part, i64) {
    return store<R>(part != 0);
  }
};
template <class T>
struct reduce_any : Testing<T> {
  static u32 start() { return 0; }
  static u32 merge(u32 a, u32 b) { return a | b; }
  static u32 take(u32 part, T element, i64) { return part | Testing<T>::of(element); }
};
template <class T>
struct reduce_all : Testing<T> {
  static u32 start() { return 1; }
  static u32 merge(u32 a, u32 b) { return a & b; }
  static u32 take(u32 part, T element, i64) { return part & Testing<T>::of(element); }
};

/// Merges the partial results of `along` threads, `apart` threads from each other, into those of the first, always in the same order; each
/// of `count` results of a team by itself. `shared`: if several warps merge, memory for a part of each result in each slot of `block`
/// threads.
template <class Op, int along, int apart, int count, int block>
inline void merge_parts(typename Op::Part* parts, typename Op::Part* shared, int place) {
  typedef Warps<along, apart> Team;
#pragma unroll
  for (int r = 0; r < count; ++r) parts[r] = merge_in_warp<Op, along, apart>(parts[r]);
  if (!Team::meet) return;
  const int slots = block / 32 * Team::slots;
  if (Team::leaves()) {
#pragma unroll
    for (int r = 0; r < count; ++r) shared[r * slots + Team::own()] = parts[r];
  }
  __syncthreads();
  if (place > 0) return;
  const int front = Team::front(place);
#pragma unroll
  for (int r = 0; r < count; ++r) {
    parts[r] = shared[r * slots + front];
#pragma unroll
    for (int w = 1; w < Team::count; ++w) parts[r] = Op::merge(parts[r], shared[r * slots + front + w * Team::step]);
  }
}
