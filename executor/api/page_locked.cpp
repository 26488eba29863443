#include "executor/api/page_locked.h"

#include <memory>

#include "executor/cuda/open.h"
#include "executor/run/executor.h"

namespace cleave {

Result<Array> page_locked(TensorType type, std::string_view device) {
  ExecutorOptions options;
  if (Status status = choose_accelerator(device, options); !status) return status.error();
  if (options.accelerator == ExecutorOptions::Accelerator::cuda) return cuda::page_locked(std::move(type), options.ordinal);
  Result<Array> array = Array::allocate(type);
  if (!array || options.accelerator == ExecutorOptions::Accelerator::none) return array;
  auto memory = std::make_shared<Array>(*std::move(array));
  std::byte* data = memory->mutable_bytes();
  return Array::own(
      std::move(type), data, [memory] {}, PageLock::simulated);
}

}  // namespace cleave
