// Source locations of the nodes of an ONNX file: the line of the user's Python if the node's metadata has one, as PyTorch's exporter writes
// it; else the node's name, operator and file.
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
  /// `sources`: the folders in which files named by stack traces must be; null: the folder of `file`.
  explicit Locations(std::string file, std::shared_ptr<const FileRoots> sources = nullptr);

  /// With a stack trace: the innermost frame outside of installed packages, as `FILE:12`; its callers and the node are the chain. Without:
  /// `model.onnx: node NAME (Op)`; its namespaces are the chain.
  SourceLocation of(const NodeProto& node);
  /// The chain that nodes have behind their own: that of a program which calls this file; null: none.
  void set_caller(std::shared_ptr<const SourceFrame> caller);
  [[nodiscard]] SourceLocation whole_file() const { return {file_, 0, 0, nullptr}; }
  /// The location of a named object in the file: an input, an initializer.
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
  std::shared_ptr<const SourceFrame> caller_;
  std::map<std::string, std::shared_ptr<const std::string>, std::less<>> files_;       ///< Python files, by path
  std::map<std::string, std::shared_ptr<const SourceFrame>, std::less<>> namespaces_;  ///< by path
};

/// "`NAME` (Op)", or "(Op)" if the node has no name.
std::string node_title(const NodeProto& node);

}  // namespace cleave::models::onnx
