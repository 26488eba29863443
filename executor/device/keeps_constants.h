// KeepsConstants: the ability of a host kernel to derive from kept inputs, before any run, what its first run would derive from them.
#pragma once

#include "executor/device/kernel.h"

namespace cleave::runtime {

class KeepsConstants {
 public:
  KeepsConstants() = default;
  KeepsConstants(const KeepsConstants&) = delete;
  KeepsConstants& operator=(const KeepsConstants&) = delete;
  virtual ~KeepsConstants() = default;
  /// Must not be called concurrently, nor during a run. Only kept inputs of the call have data.
  virtual void keep(const KernelCall& call) = 0;
};

}  // namespace cleave::runtime
