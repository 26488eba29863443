// Where a node of an ONNX file comes from: the line of the user's Python, which PyTorch's exporter writes into the node's metadata, else
// the node itself, by name, operator and file.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "graph/base/named_file.h"
#include "graph/base/source_location.h"
#include "models/onnx/proto.h"

namespace cleave::models::onnx {

class Locations {
 public:
  /// `sources`: where the files must lie that stack traces name; null: in the folder of `file`.
  explicit Locations(std::string file, std::shared_ptr<const FileRoots> sources = nullptr);

  /// With a stack trace: the innermost frame outside of installed packages, as `FILE:12`, with its callers and the node as the chain.
  /// Without: `model.onnx: node NAME (Op)`, with its namespaces as the chain.
  SourceLocation of(const NodeProto& node);
  [[nodiscard]] SourceLocation whole_file() const { return {file_, 0, 0, nullptr}; }
  /// What stands in the file under a name: an input, an initializer.
  [[nodiscard]] SourceLocation named(std::string_view what, std::string_view name) const;

 private:
  struct Frame {
    std::string_view file, function;
    int line = 0;
  };
  static std::vector<Frame> frames(std::string_view trace);
  SourceLocation at(const Frame& frame, std::shared_ptr<const SourceFrame> via);
  std::shared_ptr<const SourceFrame> chain_of(std::string_view node_name);

  std::string file_name_;
  std::shared_ptr<const FileRoots> sources_;
  std::shared_ptr<const std::string> file_;
  std::map<std::string, std::shared_ptr<const std::string>, std::less<>> files_;       ///< of Python
  std::map<std::string, std::shared_ptr<const SourceFrame>, std::less<>> namespaces_;  ///< by path
};

/// "`NAME` (Op)", or "(Op)" of a node without a name.
std::string node_title(const NodeProto& node);

}  // namespace cleave::models::onnx
