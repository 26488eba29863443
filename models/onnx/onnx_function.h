// OnnxFunction: an ONNX file that a program calls like a function, in YAML (`models:`), C++ (models/network.h) and Python. Its
// weights are parameters of that program, so that gradients, optimizers and states know them. The file is read for the types of each call.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "graph/base/mapped_file.h"
#include "graph/trace/tracer.h"
#include "models/model.h"
#include "models/onnx/onnx_file.h"

namespace cleave::models {

class OnnxFunction {
 public:
  /// Opens the file; `options.parameters` chooses the weights. An Error for a file that cannot be read, and a pattern that chooses none.
  static Result<std::shared_ptr<OnnxFunction>> open(const std::string& path, const ModelOptions& options);
  /// The same of an open file; `path` names it in messages, and external data are in its folder.
  static Result<std::shared_ptr<OnnxFunction>> open(const RegularFile& file, const std::string& path, const ModelOptions& options);
  OnnxFunction(const OnnxFunction&) = delete;
  OnnxFunction& operator=(const OnnxFunction&) = delete;

  struct Argument {
    std::string name;
    std::string type;  ///< `f32[batch, 4]`, as the file declares it; empty if it does not
  };
  [[nodiscard]] const std::vector<Argument>& takes() const { return takes_; }
  [[nodiscard]] std::size_t results() const { return results_; }
  /// The names of the weights in the file, and their types.
  [[nodiscard]] const std::vector<std::pair<std::string, TensorType>>& weights() const { return weights_; }

  /// Declares the weights as parameters `PREFIX.NAME`, or as `NAME` if `prefix` is empty. They begin with the values in the file.
  Result<std::vector<Operand>> declare(Tracer& tracer, const std::string& prefix, const SourceLocation& location);

  struct Called {
    std::vector<Operand> results;  ///< poison after a mistake
    std::optional<Diagnostic> mistake;
  };
  /// Records a call at `location`; `weights` has one operand for each weight, `name` is that of the function in the program. A mistake in
  /// the call, or in the file for these types, is returned and not reported.
  Called call(Tracer& tracer, const std::string& name, std::span<const Operand> arguments, std::span<const Operand> weights,
              const SourceLocation& location);

 private:
  OnnxFunction(std::shared_ptr<const MappedFile> mapped, std::string path, const ModelOptions& options);
  static Result<std::shared_ptr<OnnxFunction>> opened(Result<std::shared_ptr<const MappedFile>> mapped, const std::string& path,
                                                      const ModelOptions& options);
  Status read_declarations();
  std::optional<std::string> mismatch(const std::string& name, std::span<const TensorType> given) const;
  std::optional<Diagnostic> mistake_for(const std::string& name, std::span<const TensorType> given, const SourceLocation& location);
  [[nodiscard]] Status unchanged() const;

  std::shared_ptr<const MappedFile> mapped_;
  std::string path_;
  ModelOptions options_;
  onnx::OnnxFile file_;
  std::vector<onnx::ValueInfo> inputs_;
  std::vector<Argument> takes_;
  std::size_t results_ = 0;
  std::vector<std::pair<std::string, TensorType>> weights_;
  std::map<std::string, onnx::ArmMistakes> read_;  ///< arms that cannot be read, by the types of the arguments
};

}  // namespace cleave::models
