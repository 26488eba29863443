// Caches of keys and values, into which a run writes what it adds.
#pragma once

#include "models/onnx/call.h"

namespace cleave::models::onnx {

/// `cache` with each sample of `update`, [samples, …], written from that sample's element of `starts` on, along `axis`. Of few samples by
/// slice updates, which can be in place; else, and where positions behind the end continue at the front (`circular`), by a scatter.
Part written_at(Call& c, const Part& cache, const Part& update, const Part& starts, int axis, bool circular = false);

}  // namespace cleave::models::onnx
