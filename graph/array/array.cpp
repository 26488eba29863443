// Array's memory: allocation, sharing, cloning on write. Text: array_text.cpp; DLPack: array_dlpack.cpp.
#include "graph/array/array.h"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <new>
#include <type_traits>

#include "graph/base/boundary.h"
#include "graph/base/exceptions.h"
#include "graph/base/host_memory.h"
#include "graph/base/units.h"

namespace cleave {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::size_t kLarge = 64 << 20;  ///< bytes; smaller blocks are not compared with the available memory
constexpr std::uintptr_t kHugePage = 2 << 20;

/// Requests huge pages for memory that is not touched yet: streaming over small pages is a quarter slower. The result of madvise is
/// ignored, since this is a hint only.
void advise_huge_pages([[maybe_unused]] std::uintptr_t begin, [[maybe_unused]] std::uintptr_t end) {
#ifdef MADV_HUGEPAGE
  begin = (begin + kHugePage - 1) / kHugePage * kHugePage;
  end = end / kHugePage * kHugePage;
  if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
#endif
}

/// Zero-filled memory, or null. calloc leaves large blocks to be zeroed page by page on first touch, which aligned_alloc cannot.
std::shared_ptr<std::byte> allocate_zeroed(std::int64_t bytes) {
  auto wanted = static_cast<std::size_t>(bytes);
  // With overcommit, calloc would return memory that the machine does not have or that the control group does not allow.
  if (wanted >= kLarge && bytes >= host_memory().bytes) return nullptr;
  void* base = std::calloc(1, wanted + kAlignment);
  if (!base) return nullptr;
  const auto address = reinterpret_cast<std::uintptr_t>(base);
  advise_huge_pages(address, address + wanted);
  auto* aligned = static_cast<std::byte*>(base) + (kAlignment - address % kAlignment) % kAlignment;
  try {
    return {aligned, [base](std::byte*) { std::free(base); }};  // if this constructor throws, it calls the deleter
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

}  // namespace

Array::Array(TensorType type) : type_(std::move(type)) {
  std::optional<std::int64_t> bytes = checked_bytes(type_);
  CLEAVE_CHECK(bytes.has_value(), "tensor type of impossible size");
  data_ = allocate_zeroed(*bytes);
  if (!data_) throw detail::OutOfMemory(*bytes);
}

Result<Array> Array::allocate(TensorType type) {
  std::optional<std::int64_t> bytes = checked_bytes(type);
  if (!bytes) return Error{"`" + to_string(type) + "` is too large", {}, ErrorKind::machine};
  Array array;
  array.data_ = allocate_zeroed(*bytes);
  if (!array.data_) {
    return Error{"out of memory: `" + to_string(type) + "` needs " + format_bytes(static_cast<double>(*bytes)), {}, ErrorKind::machine};
  }
  array.type_ = std::move(type);
  return array;
}

Status Array::check_count(const TensorType& type, std::size_t values) {
  if (!checked_bytes(type)) return Error{"`" + to_string(type) + "` is too large or has a negative extent", {}, ErrorKind::user};
  if (static_cast<std::int64_t>(values) == type.elements()) return {};
  return Error{
      "`" + to_string(type) + "` takes " + std::to_string(type.elements()) + " values, not " + std::to_string(values), {}, ErrorKind::user};
}

Array Array::borrow(TensorType type, const void* data, std::function<void()> release) {
  // The buffer is never written through this pointer: `borrowed_` makes mutable_bytes clone it.
  Array array = own(std::move(type), const_cast<void*>(data), std::move(release));
  array.borrowed_ = true;
  return array;
}

Array Array::own(TensorType type, void* data, std::function<void()> release, PageLock lock) {
  CLEAVE_CHECK(checked_bytes(type).has_value(), "tensor type of impossible size");
  CLEAVE_CHECK(data != nullptr || type.elements() == 0, "an array of null");
  Array array;
  array.type_ = std::move(type);
  array.data_ = std::shared_ptr<std::byte>(static_cast<std::byte*>(data), [release = std::move(release)](std::byte*) {
    if (!release) return;
    const ForeignCall call("the release of an array", {}, false);
    release();
  });
  array.lock_ = lock;
  return array;
}

std::byte* Array::mutable_bytes() {
  if (borrowed_ || data_.use_count() != 1) {
    Array clone(type_);
    if (type_.bytes() > 0) std::memcpy(clone.data_.get(), data_.get(), static_cast<std::size_t>(type_.bytes()));
    *this = std::move(clone);
  } else {
    // use_count is a relaxed read. Taking a reference synchronizes with another thread that read this buffer and then released it.
    std::shared_ptr<std::byte> acquire = data_;
  }
  return data_.get();
}

double Array::at(std::int64_t flat_index) const {
  CLEAVE_CHECK(flat_index >= 0 && flat_index < size(), "element out of range");
  return dispatch(dtype(), [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
      return static_cast<double>(static_cast<float>(data<T>()[flat_index]));
    } else {
      return static_cast<double>(data<T>()[flat_index]);
    }
  });
}

bool operator==(const Array& a, const Array& b) {
  if (a.type() != b.type()) return false;
  auto bytes = static_cast<std::size_t>(a.type().bytes());
  return bytes == 0 || a.bytes() == b.bytes() || std::memcmp(a.bytes(), b.bytes(), bytes) == 0;
}

}  // namespace cleave
