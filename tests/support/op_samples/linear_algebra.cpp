// Linear algebra: matrices far from singular, with well-separated eigenvalues and singular values.
#include "tests/support/op_samples/samples.h"

namespace cleave::testing {
namespace {

/// Small random numbers, and 3, 5, 7, … on the diagonal of each matrix; `symmetric`: the lower triangle mirrored.
Array matrices(Samples& s, DType dtype, const Shape& shape, bool symmetric = false) {
  Array array = s.numbers(dtype, shape, {-0.7, 0.7});
  const std::int64_t rows = shape[shape.size() - 2], columns = shape.back();
  dispatch(dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_floating_point_v<T>) {
      T* data = array.mutable_data<T>();
      for (std::int64_t at = 0; at < array.size(); at += rows * columns) {
        for (std::int64_t i = 0; i < std::min(rows, columns); ++i) data[at + i * columns + i] = static_cast<T>(2 * i + 3);
        for (std::int64_t i = 0; symmetric && i < rows; ++i)
          for (std::int64_t j = i + 1; j < rows; ++j) data[at + i * columns + j] = data[at + j * columns + i];
      }
    }
  });
  return array;
}

}  // namespace

void add_linear_algebra(Samples& s) {
  for (const DType dtype : {f32, f64}) {
    for (const char* op : {"inv", "det", "slogdet", "qr", "svd", "svdvals"}) {
      for (const Shape& shape : {Shape{1, 1}, Shape{4, 4}, Shape{2, 3, 5, 5}, Shape{3, 0, 0}, Shape{0, 3, 3}})
        s.add(op, {matrices(s, dtype, shape)});
    }
    for (const char* op : {"qr", "svd", "svdvals"}) {
      for (const Shape& shape : {Shape{6, 3}, Shape{2, 3, 6}, Shape{4, 0}, Shape{0, 4}}) s.add(op, {matrices(s, dtype, shape)});
    }
    for (const char* op : {"cholesky", "eigh", "eigvalsh"}) {
      for (const Shape& shape : {Shape{1, 1}, Shape{4, 4}, Shape{3, 2, 5, 5}, Shape{2, 0, 0}}) s.add(op, {matrices(s, dtype, shape, true)});
      s.add(op, {matrices(s, dtype, {3, 3})});  // the upper triangle is not read
    }
    s.add("cholesky", {matrices(s, dtype, {2, 4, 4}, true)}, {{"upper", true}});
    s.add("solve", {matrices(s, dtype, {5, 5}), s.numbers(dtype, {5})});
    s.add("solve", {matrices(s, dtype, {5, 5}), s.numbers(dtype, {5, 3})});
    s.add("solve", {matrices(s, dtype, {2, 1, 3, 3}), s.numbers(dtype, {4, 3, 2})});
    s.add("solve", {matrices(s, dtype, {2, 3, 4, 4}), s.numbers(dtype, {4})});
    s.add("solve", {matrices(s, dtype, {3, 3}), s.numbers(dtype, {3, 0})});
    s.add("det", {s.numbers(dtype, {4, 4})});
    s.add("det", {Array(TensorType{dtype, {2, 2}})});
    s.add("slogdet", {Array(TensorType{dtype, {2, 2, 2}})});
  }
}

}  // namespace cleave::testing
