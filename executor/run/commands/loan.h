// Loan: memory of a device that another device reads, until that gives it back.
#pragma once

#include <cstdint>

#include "executor/device/position.h"

namespace cleave::runtime {

class CommandQueue;

class Loan {
 public:
  virtual ~Loan() = default;
  /// On the lender's driver thread: waits until generation number `generation` has been read. False: the run has stopped.
  virtual bool await_return(CommandQueue& queue, std::uint64_t generation, const Origin& here) = 0;
};

}  // namespace cleave::runtime
