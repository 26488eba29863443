// One element of `grid_sample` and of `roi_align`, and the overlap of two boxes. The reference implementations, the host kernels and the
// GPU kernels compile this same source. `C` is the compute type; a `Plane` returns the element at a row and a column. Device code must use
// plain types and no library headers.
#pragma once

#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
#define CLEAVE_ON_DEVICES __host__ __device__ inline
#else
#include <cmath>
#define CLEAVE_ON_DEVICES inline
#endif

namespace cleave::sampling {

// --- boxes -------------------------------------------------------------------------------------------------------------------------------

/// Intersection over union of two boxes, given as corners y1, x1, y2, x2, or as center x, y, width, height.
CLEAVE_ON_DEVICES double overlap(const double* a, const double* b, bool by_center) {
  double low[2][2], high[2][2];
  for (int which = 0; which < 2; ++which) {
    const double* box = which == 0 ? a : b;
    for (int axis = 0; axis < 2; ++axis) {
      const double first = by_center ? box[axis] - box[axis + 2] / 2 : box[axis];
      const double second = by_center ? box[axis] + box[axis + 2] / 2 : box[axis + 2];
      low[which][axis] = first < second ? first : second;
      high[which][axis] = first < second ? second : first;
    }
  }
  double common = 1, of_a = 1, of_b = 1;
  for (int axis = 0; axis < 2; ++axis) {
    const double begin = low[0][axis] > low[1][axis] ? low[0][axis] : low[1][axis];
    const double end = high[0][axis] < high[1][axis] ? high[0][axis] : high[1][axis];
    if (!(end > begin)) return 0;
    common = common * (end - begin);
    of_a = of_a * (high[0][axis] - low[0][axis]);
    of_b = of_b * (high[1][axis] - low[1][axis]);
  }
  return common / (of_a + of_b - common);
}

// --- grid_sample: modes and paddings by number -------------------------------------------------------------------------------------------
constexpr int kLinear = 0, kNearest = 1, kCubic = 2;
constexpr int kZeros = 0, kBorder = 1, kReflection = 2;

template <class C>
CLEAVE_ON_DEVICES C bounded(C value, C low, C high) {
  return value < low ? low : value > high ? high : value;
}
/// floor(x), clamped to [-2^30, 2^30]; NaN gives -2^30.
template <class C>
CLEAVE_ON_DEVICES long long whole(C value) {
  const C far = static_cast<C>(1 << 30);
  if (!(value >= -far)) return -(1LL << 30);
  if (value > far) return 1LL << 30;
  const auto below = static_cast<long long>(value);
  return static_cast<C>(below) > value ? below - 1 : below;
}
/// Reflects a coordinate at both ends until it is between them.
template <class C>
CLEAVE_ON_DEVICES C reflected(C at, C low, C high) {
  const C span = high - low;
  if (!(span > 0)) return low;
  const C distance = at < low ? low - at : at - low;
  const C turns = static_cast<C>(whole(distance / span)), rest = distance - turns * span;
  return whole(distance / span) % 2 == 0 ? low + rest : high - rest;
}
/// The coordinate after padding, on an axis of `extent` elements: clamped to the plane or reflected; unchanged if the padding is zeros.
template <class C>
CLEAVE_ON_DEVICES C padded(C at, long long extent, int padding, bool align) {
  const C last = static_cast<C>(extent - 1), half = static_cast<C>(0.5);
  if (padding == kReflection) at = align ? reflected(at, static_cast<C>(0), last) : reflected(at, -half, last + half);
  return padding == kZeros ? at : bounded(at, static_cast<C>(0), last);
}
/// The fractional part of a coordinate, whose floor is `below`; 0 if whole() has clamped the floor.
template <class C>
CLEAVE_ON_DEVICES C behind(C at, long long below) {
  const C distance = at - static_cast<C>(below);
  return distance < static_cast<C>(0) || distance >= static_cast<C>(1) ? static_cast<C>(0) : distance;
}
template <class C>
CLEAVE_ON_DEVICES C position(C normal, long long extent, bool align) {
  const C half = static_cast<C>(0.5), one = static_cast<C>(1);
  return align ? (normal + one) * half * static_cast<C>(extent - 1) : ((normal + one) * static_cast<C>(extent) - one) * half;
}
template <class C, class Plane>
CLEAVE_ON_DEVICES C element(const Plane& plane, long long row, long long column) {
  return row >= 0 && row < plane.rows && column >= 0 && column < plane.columns ? plane.at(row, column) : static_cast<C>(0);
}
/// Weights of Keys' cubic with a = -0.75, for taps at -1, 0, 1, 2 and a position `t` after 0.
template <class C>
CLEAVE_ON_DEVICES void cubic(C t, C* weights) {
  const C a = static_cast<C>(-0.75), one = static_cast<C>(1), two = static_cast<C>(2), three = static_cast<C>(3);
  const auto near = [&](C x) { return ((a + two) * x - (a + three)) * x * x + one; };
  const auto far = [&](C x) { return ((a * x - static_cast<C>(5) * a) * x + static_cast<C>(8) * a) * x - static_cast<C>(4) * a; };
  weights[0] = far(t + one);
  weights[1] = near(t);
  weights[2] = near(one - t);
  weights[3] = far(two - t);
}

/// The plane's value at normalized coordinates: -1 and 1 are its borders.
template <class C, class Plane>
CLEAVE_ON_DEVICES C grid_sample(const Plane& plane, C normal_x, C normal_y, int mode, int padding, bool align) {
  if (plane.rows == 0 || plane.columns == 0) return static_cast<C>(0);
  C x = position(normal_x, plane.columns, align), y = position(normal_y, plane.rows, align);
  if (mode == kCubic) {
    // Like PyTorch: padding is applied to each tap, not to the coordinate between the taps.
    const long long column = whole(x), row = whole(y);
    C across[4], down[4];
    cubic(behind(x, column), across);
    cubic(behind(y, row), down);
    C sum = static_cast<C>(0);
    for (int j = 0; j < 4; ++j) {
      const long long r = whole(padded(static_cast<C>(row - 1 + j), plane.rows, padding, align));
      C line = static_cast<C>(0);
      for (int i = 0; i < 4; ++i) {
        const long long c = whole(padded(static_cast<C>(column - 1 + i), plane.columns, padding, align));
        line = line + across[i] * element<C>(plane, r, c);
      }
      sum = sum + down[j] * line;
    }
    return sum;
  }
  if (mode == kNearest)
    return element<C>(plane, whole(padded(rint(y), plane.rows, padding, align)), whole(padded(rint(x), plane.columns, padding, align)));
  x = padded(x, plane.columns, padding, align);
  y = padded(y, plane.rows, padding, align);
  const long long column = whole(x), row = whole(y);
  const C right = x - static_cast<C>(column), below = y - static_cast<C>(row), one = static_cast<C>(1);
  const C upper = (one - right) * element<C>(plane, row, column) + right * element<C>(plane, row, column + 1);
  const C lower = (one - right) * element<C>(plane, row + 1, column) + right * element<C>(plane, row + 1, column + 1);
  return (one - below) * upper + below * lower;
}

// --- roi_align ---------------------------------------------------------------------------------------------------------------------------

struct Bins {
  long long rows, columns, samples;  ///< of the result; samples along an axis of a bin, 0: as many as it has elements
  double scale;
  bool half_pixel, largest;
};

/// Most samples along an axis of a bin if their number follows from the region, so that invalid regions cannot take unbounded time.
constexpr long long kMostSamples = 4096;

/// One axis of a sample that lies within an element of the plane: the two elements around it with their shares.
template <class C>
struct Around {
  long long low, high;
  C share_low, share_high;
};
template <class C>
CLEAVE_ON_DEVICES Around<C> around(C at, long long extent) {
  Around<C> found;
  at = at > static_cast<C>(0) ? at : static_cast<C>(0);
  found.low = whole(at);
  if (found.low >= extent - 1) {
    found.low = found.high = extent - 1;
    at = static_cast<C>(found.low);
  } else {
    found.high = found.low + 1;
  }
  found.share_high = at - static_cast<C>(found.low);
  found.share_low = static_cast<C>(1) - found.share_high;
  return found;
}

template <class C>
CLEAVE_ON_DEVICES long long samples_of(C size, const Bins& bins, long long count) {
  if (bins.samples > 0) return bins.samples;
  const C each = size / static_cast<C>(count);
  const long long below = whole(each);
  const long long count_of = static_cast<C>(below) < each ? below + 1 : below;
  return count_of < kMostSamples ? count_of : kMostSamples;
}

/// The samples along one axis of a bin. Those in [begin, end) are inside the plane or at most one element outside; all others are 0, and
/// there may be far more of them.
template <class C>
struct Sampled {
  C first, step;
  long long count, begin, end;
  CLEAVE_ON_DEVICES C at(long long i) const { return first + (static_cast<C>(i) + static_cast<C>(0.5)) * step / static_cast<C>(count); }
};
template <class C>
CLEAVE_ON_DEVICES Sampled<C> sampled(C start, C step, long long bin, long long count, long long extent) {
  Sampled<C> found{start + static_cast<C>(bin) * step, step, count, 0, count > 0 ? count : 0};
  // Coordinates are monotonic in the sample's number, even after rounding, so `begin` and `end` are found by binary search.
  const auto first_where = [&](const auto& holds) {
    long long low = 0, high = found.end;
    while (low < high) {
      const long long middle = low + (high - low) / 2;
      if (holds(found.at(middle))) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  };
  const C lowest = static_cast<C>(-1), highest = static_cast<C>(extent);
  if (step < static_cast<C>(0)) {
    found.begin = first_where([&](C at) { return at <= highest; });
    found.end = first_where([&](C at) { return !(at >= lowest); });
  } else {
    found.begin = first_where([&](C at) { return at >= lowest; });
    found.end = first_where([&](C at) { return !(at <= highest); });
  }
  if (found.end < found.begin) found.end = found.begin;
  return found;
}

/// Default for `look`: does nothing.
struct NoLook {
  CLEAVE_ON_DEVICES void operator()() const {}
};

/// The bin at `row` and `column` of the region x1, y1, x2, y2. `look()` is called for each row of samples.
template <class C, class Plane, class Look = NoLook>
CLEAVE_ON_DEVICES C roi_align(const Plane& plane, const C* region, long long row, long long column, const Bins& bins,
                              const Look& look = Look()) {
  const C scale = static_cast<C>(bins.scale), offset = static_cast<C>(bins.half_pixel ? 0.5 : 0.0);
  const C left = region[0] * scale - offset, top = region[1] * scale - offset;
  C width = region[2] * scale - offset - left, height = region[3] * scale - offset - top;
  if (!bins.half_pixel) {
    width = width > static_cast<C>(1) ? width : static_cast<C>(1);
    height = height > static_cast<C>(1) ? height : static_cast<C>(1);
  }
  const C bin_width = width / static_cast<C>(bins.columns), bin_height = height / static_cast<C>(bins.rows);
  const long long down = samples_of(height, bins, bins.rows), across = samples_of(width, bins, bins.columns);
  const Sampled<C> rows = sampled(top, bin_height, row, down, plane.rows),
                   columns = sampled(left, bin_width, column, across, plane.columns);
  C sum = static_cast<C>(0);
  bool first = true;
  const auto outside = [&](bool any) {  // samples outside of the plane count as 0
    if (any && bins.largest && (first || static_cast<C>(0) > sum)) sum = static_cast<C>(0);
    first = first && !any;
  };
  outside(rows.begin > 0 && across > 0);
  for (long long j = rows.begin; j < rows.end; ++j) {
    look();
    const Around<C> v = around(rows.at(j), plane.rows);
    outside(columns.begin > 0);
    for (long long i = columns.begin; i < columns.end; ++i) {
      const Around<C> h = around(columns.at(i), plane.columns);
      const C a = v.share_low * h.share_low * plane.at(v.low, h.low), b = v.share_low * h.share_high * plane.at(v.low, h.high);
      const C c = v.share_high * h.share_low * plane.at(v.high, h.low), d = v.share_high * h.share_high * plane.at(v.high, h.high);
      if (!bins.largest) {
        sum = sum + (a + b + c + d);
        continue;
      }
      const C ab = a > b ? a : b, cd = c > d ? c : d, here = ab > cd ? ab : cd;  // like ONNX: the largest weighted element, not the sum
      sum = first || here > sum ? here : sum;
      first = false;
    }
    outside(columns.end < across);
  }
  outside(rows.end < down && across > 0);
  if (bins.largest) return sum;
  const long long count = down * across;
  return sum / static_cast<C>(count > 1 ? count : 1);
}

}  // namespace cleave::sampling
