// The graph that a reader returns for an unusable model: it holds only diagnostics. Internal to the readers.
#pragma once

#include <string>

#include "graph/graph.h"

namespace cleave::models {

/// A graph with `diagnostics`: in source order, without duplicates, at most 20; a note counts those left out.
Graph failed(const std::string& file, Diagnostics diagnostics);
/// A graph whose one diagnostic says that the machine is out of memory.
Graph without_memory(const std::string& file);
/// A graph whose one diagnostic says that the file cannot be read.
Graph unreadable(const std::string& file, const Error& error);

}  // namespace cleave::models
