// ResultMemory: allocates the arrays that a run returns as results, and reuses the memory of earlier results that have no owner any more.
// So a program that runs repeatedly, and whose results are released, takes no memory from the system after its first run.
#pragma once

#include <memory>

#include "executor/runtime.h"
#include "graph/array/array.h"
#include "graph/base/result.h"

namespace cleave::runtime {

class ResultMemory {
 public:
  ResultMemory();
  /// Allocates an array with undefined contents. May be called from any thread; the array may outlive this object.
  Result<Array> take(const TensorType& type);

 private:
  class Spare;
  std::shared_ptr<Spare> spare_;
};

}  // namespace cleave::runtime
