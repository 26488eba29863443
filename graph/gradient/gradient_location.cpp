#include "graph/gradient/gradient_location.h"

namespace cleave::gradients {

bool GradientLocations::shared(const SourceFrame* frame) const {
  for (const SourceFrame* own = call_.via.get(); own; own = own->location.via.get())
    if (own == frame) return true;
  return false;
}

std::shared_ptr<const SourceFrame> GradientLocations::inside(const std::shared_ptr<const SourceFrame>& frame) {
  if (!scope_) scope_ = std::make_shared<const SourceFrame>(SourceFrame{label_, call_});
  if (!frame || shared(frame.get())) return scope_;
  std::shared_ptr<const SourceFrame>& made = made_[frame.get()];
  if (made) return made;
  SourceFrame copy = *frame;
  copy.location.via = inside(frame->location.via);
  return made_[frame.get()] = std::make_shared<const SourceFrame>(std::move(copy));
}

SourceLocation GradientLocations::of(const SourceLocation& forward) {
  SourceLocation location = forward;
  location.via = inside(forward.via);
  return location;
}

}  // namespace cleave::gradients
