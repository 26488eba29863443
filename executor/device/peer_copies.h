// PeerCopies: copies from the arena of another device of the same kind, which do not pass the host's memory.
#pragma once

#include "executor/device/device.h"

namespace cleave::runtime {

class PeerCopies {
 public:
  virtual ~PeerCopies() = default;
  /// On `to_device`: copies from the arena of `source`. The data must have been computed there, and stay until this command is done.
  virtual Status copy_from(Range to, Device& source, Range from, const Origin& origin) = 0;
};

}  // namespace cleave::runtime
