// Map guards: protection against truncation of a mapped file, which would end the process with SIGBUS when the map is read. In a guarded
// range, a missing page is replaced by zeros, and the guard records it. Other faults go to the previous handler. Private to mapped_file.h
// and to readers that copy from one.
#pragma once

#include <cstddef>
#include <string_view>

namespace cleave {

/// Guards a range and returns the guard's number; -1: too many ranges are guarded already.
int guard_map(const void* begin, std::size_t bytes);
/// Whether a page of the guarded range could not be read from the file.
bool found_cut(int guard);
void release_guard(int guard);

/// Hint that `bytes` will not be read again: releases the whole pages of a guarded map that they cover. A later access reads them from the
/// file again.
void drop_pages(std::string_view bytes);
/// Must be called after `pieces` pieces of `bytes` each were read from memory that starts at `begin` and may be a guarded map: when much of
/// a map was read, its pages are released, so that a file larger than memory can be read again and again. Later accesses read them anew.
void count_reads(const void* begin, std::size_t bytes, std::size_t pieces);

}  // namespace cleave
