// What a reader gives for a model that cannot be used: a graph with nothing but its mistakes. Internal to the readers.
#pragma once

#include <string>

#include "graph/graph.h"

namespace cleave::models {

/// In source order, each once, and no more of them than anybody reads.
Graph failed(const std::string& file, Diagnostics diagnostics);
/// With the one mistake that the machine has no more memory.
Graph without_memory(const std::string& file);
/// With the one mistake that the file cannot be read.
Graph unreadable(const std::string& file, const Error& error);

}  // namespace cleave::models
