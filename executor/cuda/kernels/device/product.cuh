// One tile of a matrix product: 16 x 16 threads, each with `each` x `each` sums in registers, advance along `k` in steps of 16. While one
// step is added from shared memory, the next one is loaded from global memory. Each sum is taken in the order of `k`. The including text
// must define `summand(element)`: the element in the type of the sums.

typedef long long Size;

/// Neighboring elements, read and written up to 16 bytes at once.
template <class T, int count>
struct alignas(sizeof(T) * count < 16 ? sizeof(T) * count : 16) Few {
  T lane[count];
};
template <class T, int count>
inline void write_few(T* to, const Few<T, count>& few, Size room) {
  if (room >= count && ((Size)to & (Size)(alignof(Few<T, count>) - 1)) == 0) {
    *(Few<T, count>*)to = few;
    return;
  }
#pragma unroll
  for (int l = 0; l < count; ++l)
    if (l < room) to[l] = few.lane[l];
}

/// A step of 16 along `k` of 16 * each lines; this thread loads its elements `t`, `t` + 256, … `along`: elements are contiguous along `k`,
/// else across it.
template <int each, bool along>
struct Part {
  static int line(int t) { return along ? t / 16 : t % (16 * each); }
  static int place(int t) { return along ? t % 16 : t / (16 * each); }

  template <class Element, class Sum>
  static void fetch(const Element* x, Size lines, Size k, Size first, Size from, Sum (&next)[each]) {
    // One address that advances: an address for each element would take too many registers.
    const int t = (int)threadIdx.x;
    const Size i = first + line(t), p = from + place(t), step = along ? 16 * k : 16 / each * lines;
    const Element* at = x + (along ? i * k + p : p * lines + i);
#pragma unroll
    for (int r = 0; r < each; ++r, at += step)
      next[r] = i + (along ? 16 * r : 0) < lines && p + (along ? 0 : 16 / each * r) < k ? (Sum)summand(*at) : (Sum)0;
  }
  template <class Sum>
  static void put(Few<Sum, each>* shared, const Sum (&next)[each]) {
#pragma unroll
    for (int r = 0; r < each; ++r) {
      const int t = (int)threadIdx.x + 256 * r;
      shared[place(t) * 17 + line(t) / each].lane[line(t) % each] = next[r];
    }
  }
};

/// Computes the tile whose first row is `top` and whose first column is `side`; `left` and `right` are shared memory of 16 * 17 items each.
template <int each, bool turned_a, bool turned_b, class Element, class Sum>
inline void add_up(const Element* a, const Element* b, Size m, Size n, Size k, Size top, Size side, Few<Sum, each>* left,
                   Few<Sum, each>* right, Sum (&sums)[each][each]) {
  typedef Part<each, !turned_a> Left;
  typedef Part<each, turned_b> Right;
  const int row = (int)threadIdx.x / 16, column = (int)threadIdx.x % 16;
  Sum next_left[each], next_right[each];
  Left::fetch(a, m, k, top, 0, next_left);
  Right::fetch(b, n, k, side, 0, next_right);
  for (Size from = 0; from < k; from += 16) {
    Left::put(left, next_left);
    Right::put(right, next_right);
    __syncthreads();
    if (from + 16 < k) {
      Left::fetch(a, m, k, top, from + 16, next_left);
      Right::fetch(b, n, k, side, from + 16, next_right);
    }
#pragma unroll 8
    for (int step = 0; step < 16; ++step) {
      const Few<Sum, each> x = left[step * 17 + row], y = right[step * 17 + column];
#pragma unroll
      for (int r = 0; r < each; ++r) {
#pragma unroll
        for (int l = 0; l < each; ++l) sums[r][l] += x.lane[r] * y.lane[l];
      }
    }
    __syncthreads();
  }
}
