// ResultMemory: arrays that leave with the results of a run, made of memory of earlier ones that nobody holds any more. So a program that
// is run again and again, and whose results are let go, takes no memory from the system after its first run.
#pragma once

#include <memory>

#include "executor/runtime.h"
#include "graph/array/array.h"
#include "graph/base/result.h"

namespace cleave::runtime {

class ResultMemory {
 public:
  ResultMemory();
  /// An array with undefined contents. From any thread; it may outlive this.
  Result<Array> take(const TensorType& type);

 private:
  class Spare;
  std::shared_ptr<Spare> spare_;
};

}  // namespace cleave::runtime
