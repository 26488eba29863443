// Array: typed host data, row-major and contiguous. Copying an Array shares its buffer; writing to a shared one clones it first.
// Reading and writing files: npy.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "graph/array/tensor_type.h"
#include "graph/base/check.h"
#include "graph/base/result.h"

namespace cleave {

/// Whether an Array's memory is page-locked, so that a device copies from and to it without a staging buffer.
enum class PageLock : std::uint8_t {
  none,
  simulated,    ///< the simulated accelerator does
  accelerator,  ///< locked by the driver of an accelerator
};

/// Values of one element type in a shape, in row-major order.
///
///   Array a = Array::of<float>({2, 3}, {1, 2, 3, 4, 5, 6});
///   a.mutable_data<float>()[5] = 7;
///   std::puts(to_string(a).c_str());  // [[1, 2, 3], [4, 5, 7]]
class Array {
 public:
  /// A scalar f32 zero.
  Array() : Array(TensorType{}) {}
  /// Zero-filled, 64-byte aligned. Throws std::bad_alloc if memory is exhausted, as a vector does.
  explicit Array(TensorType type);

  /// Takes `values` in row-major order. Their number must equal the shape's element count; use `copy_of` for a number that is not known to
  /// be right.
  template <class T>
  static Array of(Shape shape, std::span<const T> values) {
    Array array(TensorType{DTypeOf<T>::value, std::move(shape)});
    CLEAVE_CHECK(static_cast<std::int64_t>(values.size()) == array.type().elements(), "wrong number of values");
    std::copy(values.begin(), values.end(), array.mutable_data<T>());
    return array;
  }
  template <class T>
  static Array of(Shape shape, std::initializer_list<T> values) {
    return of<T>(std::move(shape), std::span<const T>(values.begin(), values.size()));
  }
  /// The same, but returns an Error (user) if the number of values is wrong, and an Error (machine) if memory is exhausted.
  template <class T>
  static Result<Array> copy_of(Shape shape, std::span<const T> values) {
    TensorType type{DTypeOf<T>::value, std::move(shape)};
    if (Status fits = check_count(type, values.size()); !fits) return fits.error();
    Result<Array> array = allocate(std::move(type));
    if (array) std::copy(values.begin(), values.end(), array->mutable_data<T>());
    return array;
  }
  template <class T>
  static Array scalar(T value) {
    return of<T>({}, {value});
  }
  /// A read-only view of the caller's memory, without a copy. The memory must not change until `release` runs, when the last Array on it is
  /// destroyed.
  static Array borrow(TensorType type, const void* data, std::function<void()> release = nullptr);
  /// Takes ownership of memory that the caller allocated: the Array reads and writes it in place, and `release` runs when the last Array on
  /// it is destroyed. For page-locked memory of a device call page_locked() (executor/api/page_locked.h) instead.
  static Array own(TensorType type, void* data, std::function<void()> release, PageLock lock = PageLock::none);
  /// Same as the constructor, but returns an Error (machine) if memory is exhausted.
  static Result<Array> allocate(TensorType type);

  /// DLPack 0.6 (https://dmlc.github.io/dlpack): a new DLManagedTensor* that shares this buffer, and an Array on one (taking it over). The
  /// tensor must be contiguous row-major CPU memory; otherwise the import is an Error and the caller keeps it. Page-locked
  /// memory is exported as CPU memory, which every consumer accepts; an imported kDLCUDAHost tensor counts as page-locked. Null if memory
  /// is exhausted.
  [[nodiscard]] void* to_dlpack() const;
  static Result<Array> from_dlpack(void* managed_tensor);

  [[nodiscard]] const TensorType& type() const { return type_; }
  [[nodiscard]] const Shape& shape() const { return type_.shape; }
  [[nodiscard]] DType dtype() const { return type_.dtype; }
  [[nodiscard]] std::int64_t size() const { return type_.elements(); }

  [[nodiscard]] const std::byte* bytes() const { return data_.get(); }
  [[nodiscard]] std::byte* mutable_bytes();

  /// Whether the data is in page-locked memory. A copy of the Array shares the data and thus this property; writing to a shared Array first
  /// clones the data into ordinary memory.
  [[nodiscard]] bool page_locked() const { return lock_ != PageLock::none; }
  [[nodiscard]] PageLock page_lock() const { return lock_; }
  /// Whether the memory is borrowed (see borrow()): it is never written; writing clones it first.
  [[nodiscard]] bool borrowed() const { return borrowed_; }

  /// Typed access. T must be the native type of dtype().
  template <class T>
  [[nodiscard]] const T* data() const {
    CLEAVE_CHECK(DTypeOf<T>::value == type_.dtype, "wrong element type");
    return reinterpret_cast<const T*>(data_.get());
  }
  template <class T>
  [[nodiscard]] T* mutable_data() {
    CLEAVE_CHECK(DTypeOf<T>::value == type_.dtype, "wrong element type");
    return reinterpret_cast<T*>(mutable_bytes());
  }
  template <class T>
  [[nodiscard]] std::span<const T> values() const {
    return {data<T>(), static_cast<std::size_t>(size())};
  }
  /// The element at a row-major position, as a double (bool as 0 or 1): `array.at(2 * columns + 1)`.
  [[nodiscard]] double at(std::int64_t flat_index) const;

 private:
  static Status check_count(const TensorType& type, std::size_t values);

  TensorType type_;
  std::shared_ptr<std::byte> data_;
  bool borrowed_ = false;
  PageLock lock_ = PageLock::none;
};

/// Same type and same bits.
bool operator==(const Array& a, const Array& b);

/// Values as NumPy prints them: nested brackets, arrays of more than 1000 elements shortened with `...`. Every number has the fewest digits
/// that read back as itself.
std::string to_string(const Array& array);

}  // namespace cleave
