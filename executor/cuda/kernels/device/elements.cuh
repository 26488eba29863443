// The start of every generated kernel: element types, their reads, arithmetic and writes, and index arithmetic. Device code
// for NVRTC (all functions are device functions, by option), without #include; also plain C++ if a host runs it with shims. The host's
// counterparts are graph/array/float16.cpp, graph/ops/convert.h and graph/ops/wrapping.h: equal for every value but the payload of a NaN.

typedef float f32;
typedef double f64;
typedef int i32;
typedef long long i64;
typedef signed char i8;
typedef short i16;
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
struct f16 {
  u16 bits;
};
struct bf16 {
  u16 bits;
};

// --- faulty data ------------------------------------------------------------------------------------------------------------------------

// Reports faulty data to the host: the offending `number` and the launch's ticket. Inside of loops that the device controls, the ticket is
// known only at their launch: `ticket` is then its address, with the highest bit set, and the loops end (LaunchWords in
// executor/cuda/deciding.h).
inline void tell_fault(volatile u64* fault, u64 ticket, i64 number) {
  u64* launch = (i64)ticket < 0 ? (u64*)(ticket & ~((u64)1 << 63)) : (u64*)0;
  if (fault[0] == 0) {
    fault[1] = (u64)number;
    __threadfence_system();
    fault[0] = launch ? launch[0] : ticket;
  }
  if (launch) launch[2] = 1;
}

// --- 16-bit floats -----------------------------------------------------------------------------------------------------------------------

#if defined(__CUDA_ARCH__)
inline f32 widen_half(f16 x) {
  f32 value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(x.bits));
  return value;
}
inline f16 to_half(f32 value) {
  f16 x;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(x.bits) : "f"(value));
  return x;
}
inline bf16 to_bfloat(f32 value) {
  bf16 x;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(x.bits) : "f"(value));
  return x;
}
#else  // the same, bit by bit
inline u32 round_off(u32 bits, int count) {
  return (bits + (1u << (count - 1)) - 1 + ((bits >> count) & 1u)) >> count;
}
inline f32 widen_half(f16 x) {
  const u32 sign = (u32)(x.bits & 0x8000u) << 16, exponent = (x.bits >> 10) & 0x1fu, mantissa = x.bits & 0x3ffu;
  if (exponent == 0) return (sign ? -1.0f : 1.0f) * (f32)mantissa * (1.0f / 16777216);
  return __uint_as_float(sign | (exponent == 31 ? 255 : exponent + 112) << 23 | mantissa << 13);
}
inline f16 to_half(f32 value) {
  const u32 all = __float_as_uint(value), sign = (all >> 16) & 0x8000u, magnitude = all & 0x7fffffffu;
  u32 result = 0;
  if (magnitude > 0x7f800000u) {
    result = 0x7fffu;
  } else if (magnitude >= 0x47800000u) {
    result = 0x7c00u;
  } else if (magnitude >= 0x38800000u) {
    result = round_off(magnitude - (112u << 23), 13);
  } else if (magnitude >= 0x33000000u) {
    result = round_off((magnitude & 0x7fffffu) | 0x800000u, 126 - (int)(magnitude >> 23));
  }
  f16 x;
  x.bits = (u16)(sign | result);
  return x;
}
inline bf16 to_bfloat(f32 value) {
  const u32 all = __float_as_uint(value);
  bf16 x;
  x.bits = (u16)((all & 0x7fffffffu) > 0x7f800000u ? 0x7fffu : round_off(all, 16));
  return x;
}
#endif
inline f32 widen_bfloat(bf16 x) {
  return __uint_as_float((u32)x.bits << 16);
}

// --- integers that wrap ------------------------------------------------------------------------------------------------------------------

template <class T>
struct UnsignedOf {
  typedef u32 type;
};
template <>
struct UnsignedOf<i64> {
  typedef u64 type;
};
template <>
struct UnsignedOf<u64> {
  typedef u64 type;
};

/// Two's complement arithmetic modulo 2^bits.
template <class T>
struct Wrapping {
  typedef typename UnsignedOf<T>::type Bits;
  T value;

  Wrapping() : value(0) {}
  Wrapping(bool from) : value((T)from) {}
  Wrapping(i32 from) : value((T)from) {}
  Wrapping(u32 from) : value((T)from) {}
  Wrapping(i64 from) : value((T)from) {}
  Wrapping(u64 from) : value((T)from) {}
  Wrapping(u8 from) : value((T)from) {}
  Bits bits() const { return (Bits)value; }

  friend Wrapping operator+(Wrapping a, Wrapping b) { return a.bits() + b.bits(); }
  friend Wrapping operator-(Wrapping a, Wrapping b) { return a.bits() - b.bits(); }
  friend Wrapping operator*(Wrapping a, Wrapping b) { return a.bits() * b.bits(); }
  friend Wrapping operator/(Wrapping a, Wrapping b) { return a.value / b.value; }
  friend Wrapping operator%(Wrapping a, Wrapping b) { return a.value % b.value; }
  friend Wrapping operator&(Wrapping a, Wrapping b) { return a.bits() & b.bits(); }
  friend Wrapping operator|(Wrapping a, Wrapping b) { return a.bits() | b.bits(); }
  friend Wrapping operator^(Wrapping a, Wrapping b) { return a.bits() ^ b.bits(); }
  friend Wrapping operator<<(Wrapping a, Wrapping b) { return a.bits() << b.bits(); }
  friend Wrapping operator>>(Wrapping a, Wrapping b) { return a.value >> b.bits(); }
  Wrapping operator-() const { return (Bits)0 - bits(); }
  Wrapping operator~() const { return ~bits(); }
  friend bool operator==(Wrapping a, Wrapping b) { return a.value == b.value; }
  friend bool operator!=(Wrapping a, Wrapping b) { return a.value != b.value; }
  friend bool operator<(Wrapping a, Wrapping b) { return a.value < b.value; }
  friend bool operator<=(Wrapping a, Wrapping b) { return a.value <= b.value; }
  friend bool operator>(Wrapping a, Wrapping b) { return a.value > b.value; }
  friend bool operator>=(Wrapping a, Wrapping b) { return a.value >= b.value; }
};

// --- elements: load() converts one for computing, store() converts it back -------------------------------------------------------------

template <class T>
struct TypesOf {  // floating types
  typedef f32 Compute;
  typedef f64 Wide;  ///< the type of sums
  static const bool floating = true;
};
template <>
struct TypesOf<f64> {
  typedef f64 Compute;
  typedef f64 Wide;
  static const bool floating = true;
};
template <>
struct TypesOf<bool> {
  typedef bool Compute;
  typedef Wrapping<i64> Wide;
  static const bool floating = false;
};
template <class T>
struct IntegerTypes {
  typedef Wrapping<T> Compute;
  typedef Wrapping<i64> Wide;
  static const bool floating = false;
};
template <>
struct TypesOf<i8> : IntegerTypes<i8> {};
template <>
struct TypesOf<i16> : IntegerTypes<i16> {};
template <>
struct TypesOf<i32> : IntegerTypes<i32> {};
template <>
struct TypesOf<i64> : IntegerTypes<i64> {};
template <>
struct TypesOf<u8> : IntegerTypes<u8> {};
template <>
struct TypesOf<u16> : IntegerTypes<u16> {};
template <>
struct TypesOf<u32> : IntegerTypes<u32> {};
template <>
struct TypesOf<u64> : IntegerTypes<u64> {};
template <class T>
using Compute = typename TypesOf<T>::Compute;
template <class T>
using Wide = typename TypesOf<T>::Wide;

template <class T>
inline Compute<T> load(T element) {
  return Compute<T>(element);
}
inline f32 load(f16 element) {
  return widen_half(element);
}
inline f32 load(bf16 element) {
  return widen_bfloat(element);
}

inline f32 plain(f32 value) {
  return value;
}
inline f64 plain(f64 value) {
  return value;
}
inline bool plain(bool value) {
  return value;
}
template <class T>
inline T plain(Wrapping<T> value) {
  return value.value;
}
template <class R>
struct Storing {
  template <class C>
  static R store(C value) {
    return (R)plain(value);
  }
};
template <>
struct Storing<f16> {
  template <class C>
  static f16 store(C value) {
    return to_half((f32)plain(value));
  }
};
template <>
struct Storing<bf16> {
  template <class C>
  static bf16 store(C value) {
    return to_bfloat((f32)plain(value));
  }
};
/// A computed value as an element of type R.
template <class R, class C>
inline R store(C value) {
  return Storing<R>::store(value);
}
template <class T>
inline Wide<T> widen(T element) {
  return Wide<T>(plain(load(element)));
}

// --- astype: one element to another type, defined for every value --------------------------------------------------------------------------

template <class R>
struct Limits {};
template <>
struct Limits<i8> {
  static const i64 low = -128, high = 127;
};
template <>
struct Limits<i16> {
  static const i64 low = -32768, high = 32767;
};
template <>
struct Limits<i32> {
  static const i64 low = -2147483647LL - 1, high = 2147483647LL;
};
template <>
struct Limits<i64> {
  static const i64 low = -9223372036854775807LL - 1, high = 9223372036854775807LL;
};
template <>
struct Limits<u8> {
  static const i64 low = 0, high = 255;
};
template <>
struct Limits<u16> {
  static const i64 low = 0, high = 65535;
};
template <>
struct Limits<u32> {
  static const i64 low = 0, high = 4294967295LL;
};
template <>
struct Limits<u64> {
  static const u64 low = 0, high = 18446744073709551615ULL;
};

template <class R, class F>
inline R saturate(F x) {
  const F low = (F)Limits<R>::low, high = (F)Limits<R>::high;  // `high` may have been rounded up; then it is itself out of range
  if (x != x) return 0;
  if (x <= low) return (R)Limits<R>::low;
  if (x >= high) return (R)Limits<R>::high;
  return (R)x;
}
template <class R>
struct Converting {
  static R from(f32 x) { return saturate<R>(x); }
  static R from(f64 x) { return saturate<R>(x); }
  template <class I>
  static R from(I x) {
    return (R)x;
  }
};
template <>
struct Converting<bool> {
  template <class S>
  static bool from(S x) {
    return x != 0;
  }
};
template <>
struct Converting<f32> {
  template <class S>
  static f32 from(S x) {
    return (f32)x;
  }
};
template <>
struct Converting<f64> {
  template <class S>
  static f64 from(S x) {
    return (f64)x;
  }
};
template <>
struct Converting<f16> {
  template <class S>
  static f16 from(S x) {
    return to_half((f32)x);
  }
};
template <>
struct Converting<bf16> {
  template <class S>
  static bf16 from(S x) {
    return to_bfloat((f32)x);
  }
};
template <class R, class S>
inline R convert(S element) {
  return Converting<R>::from(plain(load(element)));
}

// --- indices -----------------------------------------------------------------------------------------------------------------------------

/// `n` / d for n below 2^31; `packed` is d as kernel_text.h encodes it. Wider numbers are divided by the divisor itself.
inline i32 divide(i32 n, i64 packed) {
  const u32 high = (u32)(((u64)(u32)n * (u32)((u64)packed >> 32)) >> 32);
  return (i32)((high + (u32)n) >> (u32)(packed & 31));
}
inline i64 divide(i64 n, i64 divisor) {
  return n / divisor;
}

/// Several neighboring elements, read and written in one access.
template <class T, int count>
struct alignas(sizeof(T) * count) Pack {
  T lane[count];
};
template <int count, class T>
inline Pack<T, count> read_pack(const T* elements) {
  return *(const Pack<T, count>*)elements;
}
template <class T, int count>
inline void write_pack(T* elements, const Pack<T, count>& pack) {
  *(Pack<T, count>*)elements = pack;
}
