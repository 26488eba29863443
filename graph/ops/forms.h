// Work forms (graph/work.h) that families of ops share: lengths of contiguous runs of memory, and the axes of the work.
#pragma once

#include "graph/op.h"
#include "graph/ops/rules.h"

namespace cleave::ops {

/// A form with contiguous runs of `run` out of `elements` elements.
WorkForm run_form(double run, double elements);

/// For operands broadcast to one result: runs in which each operand is read contiguously or is constant.
WorkForm run_of_operands(Types inputs, Types results, const Attributes& attributes);
/// For ops along `axis`, one or several; absent: all. `inner`: contiguous lines, with their length; `outer`: strided lines, with the number
/// of adjacent ones.
WorkForm form_of_axes(Types inputs, Types results, const Attributes& attributes);
/// For ops along one `axis`; absent: the last.
WorkForm form_of_axis(Types inputs, Types results, const Attributes& attributes);
/// `transpose` and `permute_dims`: the trailing axes that keep their position.
WorkForm transpose_form(Types inputs, Types results, const Attributes& attributes);
WorkForm permute_form(Types inputs, Types results, const Attributes& attributes);
/// For operands joined along `axis`: the contiguous piece of the smallest operand.
WorkForm join_form(Types inputs, Types results, const Attributes& attributes);

}  // namespace cleave::ops
