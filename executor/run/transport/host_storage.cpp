#include "executor/run/transport/host_storage.h"

#include <utility>

namespace cleave::runtime {

bool HostStorage::allocate() {
  Result<Array> arena = Array::allocate({DType::u8, {plan_.arena_bytes}});
  if (!arena) return false;
  arena_ = *std::move(arena);
  for (const MemoryPlan::Storage& storage : plan_.storages)
    home_.push_back(storage.external ? nullptr : arena_.mutable_bytes() + storage.range.offset);
  now_ = home_;
  return true;
}

}  // namespace cleave::runtime
