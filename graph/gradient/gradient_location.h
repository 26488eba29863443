// Locations of backward operations: that of the forward operation, in a scope `gradient of LOSS` at the call.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "graph/base/source_location.h"

namespace cleave::gradients {

class GradientLocations {
 public:
  /// `call`: the location of the call of `gradient`; `label`: that of the scope (gradient_label).
  GradientLocations(SourceLocation call, std::string label) : call_(std::move(call)), label_(std::move(label)) {}

  /// The scope stands between the scopes that forward operation and call have in common and those of the forward operation alone.
  SourceLocation of(const SourceLocation& forward);

 private:
  std::shared_ptr<const SourceFrame> inside(const std::shared_ptr<const SourceFrame>& frame);
  [[nodiscard]] bool shared(const SourceFrame* frame) const;

  SourceLocation call_;
  std::string label_;
  std::shared_ptr<const SourceFrame> scope_;
  std::map<const SourceFrame*, std::shared_ptr<const SourceFrame>> made_;
};

}  // namespace cleave::gradients
