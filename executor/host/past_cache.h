// Non-temporal stores, which bypass the caches: a result larger than the last-level cache is read from memory again anyway, and such stores
// do not fetch a cache line only to overwrite it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cleave::runtime::host {

/// Whether a result of this size is better written by non-temporal stores.
bool past_cache(std::int64_t bytes);
/// Copies with non-temporal stores if the processor has them.
void copy_past_cache(std::byte* to, const std::byte* from, std::size_t bytes);
/// A store fence. Call it after the last copy of a piece of work, before other threads are told of the data.
void finish_past_cache();

}  // namespace cleave::runtime::host
