// The families of operations at computed places, for the list of all (op_table.cpp).
#pragma once

#include <span>

#include "graph/op.h"

namespace cleave::ops {

std::span<const OpDef> scatter_ops();  ///< take_along_axis, gather_nd, scatter, scatter_add, scatter_nd
std::span<const OpDef> window_ops();   ///< dynamic_slice, dynamic_update_slice

}  // namespace cleave::ops
