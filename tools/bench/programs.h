// Programs of a given size for the benchmarks, traced like a user's.
#pragma once

#include <cstdint>

#include "graph/graph.h"

namespace cleave::bench {

/// A training-like program of about `nodes` nodes: layers of matmul, bias and activation, forward and backward, inside a loop, with a
/// printed loss, host functions in some layers and one update for each parameter. It computes nothing meaningful: only the cost of planning
/// matters.
Graph training_program(std::int64_t nodes, std::int64_t width = 64);

/// `length` additions in sequence on an f32[16]: the first `on_host` of them pinned to the host, the others to the accelerator.
Graph tiny_chain(std::int64_t length, bool on_host);

/// The host computes an f32[rows, 2048] element by element, the accelerator adds to it, and the host reduces the rows of the result.
Graph large_values(std::int64_t rows);

/// The accelerator computes element by element on an f32[rows, 2048] argument, and sums its rows.
Graph large_argument(std::int64_t rows);

}  // namespace cleave::bench
