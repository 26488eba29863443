#include "executor/cuda/page_locked.h"

#include <cstring>
#include <optional>

#include "executor/cuda/resources.h"
#include "graph/base/units.h"

namespace cleave::runtime::cuda {
namespace {

/// Page-locked memory and the context that frees it. The order of the members matters: the context is destroyed last.
struct Locked {
  std::shared_ptr<Context> context;
  std::optional<HostMemory> memory;

  ~Locked() {
    if (!memory) return;
    // Any thread may destroy the last reference. If this fails, the call that frees fails too.
    const Context::Visit visit(*context);
    memory.reset();
  }
};

}  // namespace

Result<Array> page_locked(std::shared_ptr<Context> context, TensorType type) {
  const std::optional<std::int64_t> bytes = checked_bytes(type);
  if (!bytes) return Error{"`" + to_string(type) + "` is too large", {}, ErrorKind::machine};
  auto locked = std::make_shared<Locked>();
  locked->context = std::move(context);
  const Context::Visit visit(*locked->context);
  if (!visit.status()) return visit.status().error();
  Result<HostMemory> memory = make_host_memory(*locked->context, std::max<std::int64_t>(*bytes, 1));
  if (!memory) {
    return Error{
        "no page-locked memory for " + format_bytes(static_cast<double>(*bytes)) + ": " + memory.error().message, {}, ErrorKind::machine};
  }
  void* data = memory->get();
  locked->memory.emplace(*std::move(memory));
  std::memset(data, 0, static_cast<std::size_t>(*bytes));
  return Array::own(
      std::move(type), data, [locked] {}, PageLock::accelerator);
}

}  // namespace cleave::runtime::cuda
