// Writing past the caches: results that are larger than the last of them are read from memory again anyway, and written past it no line
// is fetched only to be overwritten.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cleave::runtime::host {

/// Whether results of so many bytes are better written so.
bool past_cache(std::int64_t bytes);
/// Copies so, where the processor can.
void copy_past_cache(std::byte* to, const std::byte* from, std::size_t bytes);
/// Before others are told of what was written: after the last copy of a piece of work.
void finish_past_cache();

}  // namespace cleave::runtime::host
