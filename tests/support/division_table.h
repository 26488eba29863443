// Quotients and remainders of special numbers as NumPy 2.4 computes them: numpy.floor_divide and numpy.remainder of each pair of values,
// including the sign of zeros. Devices must give the same bits (any NaN equals any NaN).
#pragma once

#include <cmath>
#include <limits>
#include <string>

#include "graph/array/array.h"

namespace cleave::testing {

template <class T>
struct DivisionTable {
  static constexpr int kCount = 13;
  T values[kCount];
  T quotients[kCount][kCount];   ///< values[row] // values[column]
  T remainders[kCount][kCount];  ///< values[row] % values[column]
};

/// Both operands of all divisions of `table`: a column of dividends and a row of divisors.
template <class T>
std::vector<Array> operands_of(const DivisionTable<T>& table) {
  const std::span<const T> values(table.values);
  return {Array::of<T>({DivisionTable<T>::kCount, 1}, values), Array::of<T>({DivisionTable<T>::kCount}, values)};
}

/// The first element that differs from the expected one, signs of zeros included; empty if all are equal.
template <class T, int n>
std::string first_wrong(const Array& computed, const T (&expected)[n][n]) {
  const T* values = computed.data<T>();
  for (int i = 0; i < n * n; ++i) {
    const T is = values[i], should = expected[i / n][i % n];
    if ((std::isnan(is) && std::isnan(should)) || (is == should && std::signbit(is) == std::signbit(should))) continue;
    return "row " + std::to_string(i / n) + ", column " + std::to_string(i % n) + ": " + std::to_string(is) + " instead of " +
           std::to_string(should);
  }
  return {};
}

// clang-format off

inline constexpr DivisionTable<float> kDivisionF32 = [] {
  constexpr float kInf = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();
  return DivisionTable<float>{
    {0.0F, -0.0F, 0.1F, 0.3F, 1, -1, 2, -3, 7.5F, -7.5F, kInf, -kInf, kNan},
    {{kNan, kNan, 0.0F, 0.0F, 0.0F, -0.0F, 0.0F, -0.0F, 0.0F, -0.0F, 0.0F, -0.0F, kNan},
     {kNan, kNan, -0.0F, -0.0F, -0.0F, 0.0F, -0.0F, 0.0F, -0.0F, 0.0F, -0.0F, 0.0F, kNan},
     {kInf, -kInf, 1, 0.0F, 0.0F, -1, 0.0F, -1, 0.0F, -1, 0.0F, -1, kNan},
     {kInf, -kInf, 3, 1, 0.0F, -1, 0.0F, -1, 0.0F, -1, 0.0F, -1, kNan},
     {kInf, -kInf, 9, 3, 1, -1, 0.0F, -1, 0.0F, -1, 0.0F, -1, kNan},
     {-kInf, kInf, -10, -4, -1, 1, -1, 0.0F, -1, 0.0F, -1, 0.0F, kNan},
     {kInf, -kInf, 19, 6, 2, -2, 1, -1, 0.0F, -1, 0.0F, -1, kNan},
     {-kInf, kInf, -30, -10, -3, 3, -2, 1, -1, 0.0F, -1, 0.0F, kNan},
     {kInf, -kInf, 74, 24, 7, -8, 3, -3, 1, -1, 0.0F, -1, kNan},
     {-kInf, kInf, -75, -25, -8, 7, -4, 2, -1, 1, -1, 0.0F, kNan},
     {kInf, -kInf, kNan, kNan, kNan, kNan, kNan, kNan, kNan, kNan, kNan, kNan, kNan},
     {-kInf, kInf, kNan, kNan, kNan, kNan, kNan, kNan, kNan, kNan, kNan, kNan, kNan},
     {kNan, kNan, kNan, kNan, kNan, kNan, kNan, kNan, kNan, kNan, kNan, kNan, kNan}},
    {{kNan, kNan, 0.0F, 0.0F, 0.0F, -0.0F, 0.0F, -0.0F, 0.0F, -0.0F, 0.0F, -0.0F, kNan},
     {kNan, kNan, 0.0F, 0.0F, 0.0F, -0.0F, 0.0F, -0.0F, 0.0F, -0.0F, 0.0F, -0.0F, kNan},
     {kNan, kNan, 0.0F, 0.1F, 0.1F, -0.9F, 0.1F, -2.9F, 0.1F, -7.4F, 0.1F, -kInf, kNan},
     {kNan, kNan, 7.450581e-09F, 0.0F, 0.3F, -0.7F, 0.3F, -2.7F, 0.3F, -7.2F, 0.3F, -kInf, kNan},
     {kNan, kNan, 0.09999999F, 0.099999964F, 0.0F, -0.0F, 1, -2, 1, -6.5F, 1, -kInf, kNan},
     {kNan, kNan, 1.4901161e-08F, 0.20000005F, 0.0F, -0.0F, 1, -1, 6.5F, -1, kInf, -1, kNan},
     {kNan, kNan, 0.09999997F, 0.19999993F, 0.0F, -0.0F, 0.0F, -1, 2, -5.5F, 2, -kInf, kNan},
     {kNan, kNan, 4.4703484e-08F, 1.1920929e-07F, 0.0F, -0.0F, 1, -0.0F, 4.5F, -3, kInf, -3, kNan},
     {kNan, kNan, 0.09999989F, 0.2999997F, 0.5F, -0.5F, 1.5F, -1.5F, 0.0F, -0.0F, 7.5F, -kInf, kNan},
     {kNan, kNan, 1.1175871e-07F, 2.9802322e-07F, 0.5F, -0.5F, 0.5F, -1.5F, 0.0F, -0.0F, kInf, -7.5F, kNan},
     {kNan, kNan, kNan, kNan, kNan, kNan, kNan, kNan, kNan, kNan, kNan, kNan, kNan},
     {kNan, kNan, kNan, kNan, kNan, kNan, kNan, kNan, kNan, kNan, kNan, kNan, kNan},
     {kNan, kNan, kNan, kNan, kNan, kNan, kNan, kNan, kNan, kNan, kNan, kNan, kNan}},
  };
}();

inline constexpr DivisionTable<double> kDivisionF64 = [] {
  constexpr double kInf = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();
  return DivisionTable<double>{
    {0.0, -0.0, 0.1, 0.3, 1, -1, 2, -3, 7.5, -7.5, kInf, -kInf, kNan},
    {{kNan, kNan, 0.0, 0.0, 0.0, -0.0, 0.0, -0.0, 0.0, -0.0, 0.0, -0.0, kNan},
     {kNan, kNan, -0.0, -0.0, -0.0, 0.0, -0.0, 0.0, -0.0, 0.0, -0.0, 0.0, kNan},
     {kInf, -kInf, 1, 0.0, 0.0, -1, 0.0, -1, 0.0, -1, 0.0, -1, kNan},
     {kInf, -kInf, 2, 1, 0.0, -1, 0.0, -1, 0.0, -1, 0.0, -1, kNan},
     {kInf, -kInf, 9, 3, 1, -1, 0.0, -1, 0.0, -1, 0.0, -1, kNan},
     {-kInf, kInf, -10, -4, -1, 1, -1, 0.0, -1, 0.0, -1, 0.0, kNan},
     {kInf, -kInf, 19, 6, 2, -2, 1, -1, 0.0, -1, 0.0, -1, kNan},
     {-kInf, kInf, -30, -11, -3, 3, -2, 1, -1, 0.0, -1, 0.0, kNan},
     {kInf, -kInf, 74, 25, 7, -8, 3, -3, 1, -1, 0.0, -1, kNan},
     {-kInf, kInf, -75, -26, -8, 7, -4, 2, -1, 1, -1, 0.0, kNan},
     {kInf, -kInf, kNan, kNan, kNan, kNan, kNan, kNan, kNan, kNan, kNan, kNan, kNan},
     {-kInf, kInf, kNan, kNan, kNan, kNan, kNan, kNan, kNan, kNan, kNan, kNan, kNan},
     {kNan, kNan, kNan, kNan, kNan, kNan, kNan, kNan, kNan, kNan, kNan, kNan, kNan}},
    {{kNan, kNan, 0.0, 0.0, 0.0, -0.0, 0.0, -0.0, 0.0, -0.0, 0.0, -0.0, kNan},
     {kNan, kNan, 0.0, 0.0, 0.0, -0.0, 0.0, -0.0, 0.0, -0.0, 0.0, -0.0, kNan},
     {kNan, kNan, 0.0, 0.1, 0.1, -0.9, 0.1, -2.9, 0.1, -7.4, 0.1, -kInf, kNan},
     {kNan, kNan, 0.09999999999999998, 0.0, 0.3, -0.7, 0.3, -2.7, 0.3, -7.2, 0.3, -kInf, kNan},
     {kNan, kNan, 0.09999999999999995, 0.10000000000000003, 0.0, -0.0, 1, -2, 1, -6.5, 1, -kInf, kNan},
     {kNan, kNan, 5.551115123125783e-17, 0.19999999999999996, 0.0, -0.0, 1, -1, 6.5, -1, kInf, -1, kNan},
     {kNan, kNan, 0.0999999999999999, 0.20000000000000007, 0.0, -0.0, 0.0, -1, 2, -5.5, 2, -kInf, kNan},
     {kNan, kNan, 1.6653345369377348e-16, 0.2999999999999999, 0.0, -0.0, 1, -0.0, 4.5, -3, kInf, -3, kNan},
     {kNan, kNan, 0.09999999999999959, 2.7755575615628914e-16, 0.5, -0.5, 1.5, -1.5, 0.0, -0.0, 7.5, -kInf, kNan},
     {kNan, kNan, 4.163336342344337e-16, 0.2999999999999997, 0.5, -0.5, 0.5, -1.5, 0.0, -0.0, kInf, -7.5, kNan},
     {kNan, kNan, kNan, kNan, kNan, kNan, kNan, kNan, kNan, kNan, kNan, kNan, kNan},
     {kNan, kNan, kNan, kNan, kNan, kNan, kNan, kNan, kNan, kNan, kNan, kNan, kNan},
     {kNan, kNan, kNan, kNan, kNan, kNan, kNan, kNan, kNan, kNan, kNan, kNan, kNan}},
  };
}();

// clang-format on

}  // namespace cleave::testing
