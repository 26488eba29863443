#include "executor/api/page_locked.h"

#include "executor/api/back_ends.h"
#include "graph/base/exceptions.h"

namespace cleave {

Result<Array> page_locked(TensorType type, std::string_view device) {
  return detail::guard_memory([&]() -> Result<Array> {
    const Result<runtime::ExecutorSetup> setup = runtime::choose_device(device);
    if (!setup) return setup.error();
    return setup->back_end.page_locked(std::move(type), setup->ordinal);
  });
}

}  // namespace cleave
