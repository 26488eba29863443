// A guard of mapped files: where a file was cut short, its map ends the process with SIGBUS when it is read. While a range is guarded,
// such a page becomes one of zeros, and the guard remembers it. Other faults go to whoever handled them before. The private part of
// mapped_file.h, and of readers that copy from one.
#pragma once

#include <cstddef>
#include <string_view>

namespace cleave {

/// Its number; -1: too many ranges are guarded already.
int guard_map(const void* begin, std::size_t bytes);
/// Whether a page of it could not be read from the file.
bool found_cut(int guard);
void release_guard(int guard);

/// Bytes that were read for the last time: where they lie in a guarded map, its whole pages do not stay in this process's memory. They are
/// read from the file again if somebody looks at them after all.
void drop_pages(std::string_view bytes);

}  // namespace cleave
