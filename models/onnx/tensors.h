// TensorProto -> Array: weights and constants of an ONNX file. Values are copied, once a tensor, so that nothing that is written to the
// file later changes them; a tensor that promises more than the file holds is refused before anything is allocated.
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
  /// `roots`: where external data may lie.
  explicit Tensors(FileRoots roots) : roots_(std::move(roots)) {}

  /// The type that it declares. An Error (type, shape as `user`) for element types that cleave lacks and impossible shapes.
  [[nodiscard]] static Result<TensorType> type(const TensorProto& tensor);
  /// The values. An Error where there are not as many as the shape says, and for external data that cannot be read or lies outside of the
  /// model's folder.
  Result<Array> read(const TensorProto& tensor);
  /// An Error (file) if a file with external data was changed since it was opened.
  [[nodiscard]] Status unchanged() const;

 private:
  Result<Array> raw(const TensorType& type, std::string_view bytes);
  Result<Array> external(const TensorProto& tensor, const TensorType& type);
  Result<std::shared_ptr<const MappedFile>> open(const std::string& location);

  FileRoots roots_;
  std::map<std::string, std::shared_ptr<const MappedFile>> opened_;  ///< by location
  std::map<const char*, Array> copied_;                              ///< by where the bytes lie: a model may be gone through several times
};

}  // namespace cleave::models::onnx
