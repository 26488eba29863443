// TensorProto -> Array: weights and constants of an ONNX file. Elements of narrow types are unpacked to their carrier. Values are copied,
// once for each tensor, so that later changes of the file do not affect them; a tensor that claims more data than the file has is rejected
// before any allocation.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "graph/array/array.h"
#include "graph/base/mapped_file.h"
#include "models/onnx/proto.h"

namespace cleave::models::onnx {

/// The element type for a TensorProto.DataType; nothing if cleave lacks it.
std::optional<DType> element_type(std::int64_t data_type);
/// The same, but the carrier for narrow types.
std::optional<DType> carried_type(std::int64_t data_type);
/// ONNX's name of an element type: "float8e4m3fn", "string".
std::string element_type_name(std::int64_t data_type);

struct StoredType;

class Tensors {
 public:
  /// `roots`: the folders in which external data may be.
  explicit Tensors(FileRoots roots) : roots_(std::move(roots)) {}

  /// The type of the values: the declared one, or with the carrier of a narrow type. An Error (type, shape as `user`) for element types
  /// that cleave lacks and impossible shapes.
  [[nodiscard]] static Result<TensorType> type(const TensorProto& tensor);
  /// The values. An Error if their number does not match the shape, or if external data cannot be read or are outside of the model's
  /// folder.
  Result<Array> read(const TensorProto& tensor);
  /// The same with the elements that the file leaves out. An Error also for an index outside of the shape or given twice, and if the sparse
  /// tensors of the file become more than about 256 times as large as the elements that it holds.
  Result<Array> read(const SparseTensorProto& tensor);
  /// An Error (file) if a file with external data was changed since it was opened.
  [[nodiscard]] Status unchanged() const;

 private:
  Result<Array> raw(const StoredType& stored, std::string_view bytes);
  Result<Array> external(const TensorProto& tensor, const StoredType& stored);
  Result<std::shared_ptr<const MappedFile>> open(const std::string& location);

  FileRoots roots_;
  std::map<std::string, std::shared_ptr<const MappedFile>> opened_;  ///< by location
  std::map<const char*, Array> copied_;                              ///< by the address of the bytes: a model may be read several times
  std::map<const char*, Array> dense_;                               ///< sparse tensors, by the address of their values' message
  std::int64_t dense_bytes_ = 0, most_dense_bytes_ = std::int64_t{16} << 20;  ///< of sparse tensors: how large they are and may be
};

}  // namespace cleave::models::onnx
