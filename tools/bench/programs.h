// Programs of a wanted size for the benchmarks, traced like any user's.
#pragma once

#include <cstdint>

#include "graph/graph.h"

namespace cleave::bench {

/// A training-like program of about `nodes` nodes: layers of matmul, bias and activation forward and backward inside a loop, with a printed
/// loss, host functions in some layers and one update a parameter. Extents are symbolic of nothing: only the plan's cost is of interest.
Graph training_program(std::int64_t nodes, std::int64_t width = 64);

/// `length` additions in a row on an f32[16], the first `on_host` of them pinned to the host, the others to the accelerator.
Graph tiny_chain(std::int64_t length, bool on_host);

/// The host computes an f32[rows, 2048] element by element, the accelerator adds to it, and the host reduces the rows of what comes back.
Graph large_values(std::int64_t rows);

/// The accelerator computes on an f32[rows, 2048] element by element, and sums its rows.
Graph large_argument(std::int64_t rows);

}  // namespace cleave::bench
