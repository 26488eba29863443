// OnnxFile: an ONNX file in memory whose messages were checked (check_messages). It reads the file's graph into a Graph, or as a piece of a
// program that is being traced, as often as it takes to find the arms of `If` that cannot be read.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "graph/trace/tracer.h"
#include "models/model.h"
#include "models/onnx/broken_arms.h"
#include "models/onnx/locations.h"
#include "models/onnx/node_record.h"
#include "models/onnx/proto.h"
#include "models/onnx/tensors.h"
#include "models/onnx/value.h"

namespace cleave::models::onnx {

/// "f32[batch, 4]"; names that are no identifiers (`batch + 1`) are shown as unnamed sizes.
std::string declared_type(DType dtype, const std::vector<Dimension>& dims);

class OnnxFile {
 public:
  /// Refers to all three.
  OnnxFile(std::string_view bytes, const std::string& path, const ModelOptions& options);

  [[nodiscard]] const ModelProto& model() const { return model_; }
  /// The mistake in the file's versions, or empty.
  [[nodiscard]] std::string version_mistake() const;
  /// Chooses the initializers that become parameters (ModelOptions::parameters). An Error (user) for a pattern that chooses none.
  Status choose_weights();
  [[nodiscard]] const std::vector<TensorProto>& weights() const { return weights_; }
  Result<Array> read(const TensorProto& tensor) { return tensors_.read(tensor); }
  /// An Error (file) if external data changed since they were opened.
  [[nodiscard]] Status unchanged() const { return tensors_.unchanged(); }

  /// The records of its nodes. The graph that is read for them is not usable.
  std::vector<NodeRecord> records();
  /// Reads the graph, again and again until no more unreadable arms are found. `broken`, if not null, is set to those arms.
  Graph graph(ArmMistakes* broken = nullptr);
  /// Records the graph in a program: `given` has its inputs and weights by name, `broken` the arms that graph() found. All that is recorded
  /// has the Tracer's scopes in its chain of locations. Returns its outputs.
  Values record(Tracer& tracer, const std::map<std::string_view, Operand>& given, const ArmMistakes& broken);

 private:
  ArmMistakes read_records(const ArmMistakes& broken, bool last, std::vector<NodeRecord>& records);
  Graph finished(Tracer& tracer, const Diagnostics& warnings);

  std::string_view bytes_;
  const std::string& path_;
  const ModelOptions& options_;
  ModelProto model_;
  Locations locations_;
  Tensors tensors_;
  std::vector<TensorProto> weights_;
};

}  // namespace cleave::models::onnx
