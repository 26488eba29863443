// TensorProto -> Array: weights and constants of an ONNX file. Values that lie aligned in a mapped file are borrowed from it, others
// copied; a tensor that promises more than the file holds is refused before anything is allocated.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "graph/array/array.h"
#include "graph/base/mapped_file.h"
#include "models/onnx/proto.h"

namespace cleave::models::onnx {

/// The element type for a number of TensorProto.DataType; nothing for those that cleave has none for.
std::optional<DType> element_type(std::int64_t data_type);
/// As ONNX calls it: "float8e4m3fn", "string".
std::string element_type_name(std::int64_t data_type);

class Tensors {
 public:
  /// `file`: where the messages lie, null for a buffer of somebody else's, which is then copied from. `roots`: where external data may lie.
  Tensors(std::shared_ptr<const MappedFile> file, FileRoots roots) : file_(std::move(file)), roots_(std::move(roots)) {}

  /// The type that it declares. An Error (type, shape as `user`) for element types that cleave lacks and impossible shapes.
  [[nodiscard]] static Result<TensorType> type(const TensorProto& tensor);
  /// The values. An Error where there are not as many as the shape says, and for external data that cannot be read or lies outside of the
  /// model's folder.
  Result<Array> read(const TensorProto& tensor);

 private:
  Result<Array> raw(const TensorType& type, std::string_view bytes, const std::shared_ptr<const MappedFile>& holder) const;
  Result<Array> external(const TensorProto& tensor, const TensorType& type);
  Result<std::shared_ptr<const MappedFile>> open(const std::string& location);

  std::shared_ptr<const MappedFile> file_;
  FileRoots roots_;
  std::map<std::string, std::shared_ptr<const MappedFile>> opened_;  ///< by location
};

}  // namespace cleave::models::onnx
