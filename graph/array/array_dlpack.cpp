// DLPack export and import. The structs are those of the published ABI (dlpack.h, version 0.6), declared here so that no header is needed.
#include <cstdint>

#include "graph/array/array.h"
#include "graph/base/exceptions.h"

namespace cleave {
namespace {

struct DlDevice {
  std::int32_t type;
  std::int32_t id;
};
struct DlDataType {
  std::uint8_t code;
  std::uint8_t bits;
  std::uint16_t lanes;
};
struct DlTensor {
  void* data;
  DlDevice device;
  std::int32_t ndim;
  DlDataType dtype;
  std::int64_t* shape;
  std::int64_t* strides;  ///< in elements; null: row-major
  std::uint64_t byte_offset;
};
struct DlManagedTensor {
  DlTensor tensor;
  void* manager_context;
  void (*deleter)(DlManagedTensor* self);
};

constexpr std::int32_t kCpu = 1;
constexpr std::int32_t kCudaHost = 3;  // page-locked, but host memory
constexpr std::uint8_t kInt = 0, kUInt = 1, kFloat = 2, kBfloat = 4, kBool = 6;

DlDataType dl_type(DType type) {
  switch (type) {
    case DType::f32: return {kFloat, 32, 1};
    case DType::f64: return {kFloat, 64, 1};
    case DType::f16: return {kFloat, 16, 1};
    case DType::bf16: return {kBfloat, 16, 1};
    case DType::i32: return {kInt, 32, 1};
    case DType::i64: return {kInt, 64, 1};
    case DType::u8: return {kUInt, 8, 1};
    case DType::i8: return {kInt, 8, 1};
    case DType::i16: return {kInt, 16, 1};
    case DType::u16: return {kUInt, 16, 1};
    case DType::u32: return {kUInt, 32, 1};
    case DType::u64: return {kUInt, 64, 1};
    case DType::boolean: break;
  }
  return {kBool, 8, 1};
}

std::optional<DType> from_dl_type(DlDataType wanted) {
  for (int i = 0; i < kDTypeCount; ++i) {
    DlDataType type = dl_type(static_cast<DType>(i));
    if (type.code == wanted.code && type.bits == wanted.bits && wanted.lanes == 1) return static_cast<DType>(i);
  }
  return std::nullopt;
}

/// Owner of an exported tensor: the Array that it shares, and the storage of its shape and strides.
struct Exported {
  DlManagedTensor managed;
  Array array;
  Shape shape;
  std::vector<std::int64_t> strides;
};

bool row_major(const DlTensor& tensor, const TensorType& type) {
  if (!tensor.strides || type.elements() == 0) return true;
  std::vector<std::int64_t> wanted = row_major_strides(type.shape);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (type.shape[i] != 1 && tensor.strides[i] != wanted[i]) return false;
  }
  return true;
}

bool only_zero_and_one(const void* data, std::int64_t count) {
  const auto* bytes = static_cast<const unsigned char*>(data);
  for (std::int64_t i = 0; i < count; ++i) {
    if (bytes[i] > 1) return false;
  }
  return true;
}

}  // namespace

void* Array::to_dlpack() const {
  auto* exported = detail::guard_memory_or(
      [&] {
        return new Exported{{}, *this, type_.shape, row_major_strides(type_.shape)};
      },
      []() -> Exported* { return nullptr; });
  if (!exported) return nullptr;
  DlTensor& tensor = exported->managed.tensor;
  tensor.data = exported->array.data_.get();
  tensor.device = {kCpu, 0};
  tensor.ndim = type_.rank();
  tensor.dtype = dl_type(type_.dtype);
  tensor.shape = exported->shape.data();
  tensor.strides = exported->strides.data();
  tensor.byte_offset = 0;
  exported->managed.manager_context = exported;
  exported->managed.deleter = [](DlManagedTensor* self) { delete static_cast<Exported*>(self->manager_context); };
  return &exported->managed;
}

Result<Array> Array::from_dlpack(void* managed_tensor) {
  return detail::guard_memory([&]() -> Result<Array> {
    auto* managed = static_cast<DlManagedTensor*>(managed_tensor);
    if (!managed) return Error{"the DLPack tensor is null", {}};
    const DlTensor& tensor = managed->tensor;
    if (tensor.device.type != kCpu && tensor.device.type != kCudaHost) {
      return Error{"the DLPack tensor lies on a device of type " + std::to_string(tensor.device.type) + ", not in host memory", {}};
    }
    std::optional<DType> dtype = from_dl_type(tensor.dtype);
    if (!dtype) {
      return Error{"the DLPack tensor has element type code " + std::to_string(tensor.dtype.code) + " with " +
                       std::to_string(tensor.dtype.bits) + " bits and " + std::to_string(tensor.dtype.lanes) +
                       " lanes, which is not supported",
                   {}};
    }
    if (tensor.ndim < 0 || (tensor.ndim > 0 && !tensor.shape)) return Error{"the DLPack tensor has no shape", {}};
    TensorType type{*dtype, Shape(tensor.shape, tensor.shape + tensor.ndim)};
    if (!checked_bytes(type)) return Error{"the DLPack tensor `" + to_string(type) + "` has an impossible size", {}};
    if (!row_major(tensor, type)) return Error{"the DLPack tensor `" + to_string(type) + "` is not contiguous in row-major order", {}};
    const bool empty = type.elements() == 0;
    if (!tensor.data && !empty) return Error{"the DLPack tensor `" + to_string(type) + "` has no data", {}};
    const void* data = empty ? nullptr : static_cast<const std::byte*>(tensor.data) + tensor.byte_offset;
    if (reinterpret_cast<std::uintptr_t>(data) % static_cast<std::uintptr_t>(size_of(*dtype)) != 0) {
      return Error{"the data of the DLPack tensor `" + to_string(type) + "` is not aligned", {}};
    }
    if (*dtype == DType::boolean && !only_zero_and_one(data, type.elements())) {
      return Error{"the DLPack tensor `" + to_string(type) + "` holds bytes other than 0 and 1", {}};
    }
    const auto taken = std::make_shared<bool>(false);  // if the import fails, the caller keeps the tensor
    Array array = borrow(std::move(type), data, [managed, taken] {
      if (*taken && managed->deleter) managed->deleter(managed);
    });
    *taken = true;
    if (tensor.device.type == kCudaHost) array.lock_ = PageLock::accelerator;
    return array;
  });
}

}  // namespace cleave
