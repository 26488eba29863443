// The forms (graph/work.h) that families of ops share: how long the runs are in which memory is walked, and along which axes work goes.
#pragma once

#include "graph/op.h"
#include "graph/ops/rules.h"

namespace cleave::ops {

/// A form with runs of so many elements of `elements`.
WorkForm run_form(double run, double elements);

/// Operands that are broadcast to the one result: runs in which each is read in order or stands still.
WorkForm run_of_operands(Types inputs, Types results, const Attributes& attributes);
/// By `axis`, one or several; absent: all. `inner`: lines side by side in memory, with their length; `outer`: lines that lie across, with
/// the number of neighbouring ones.
WorkForm form_of_axes(Types inputs, Types results, const Attributes& attributes);
/// By `axis`, one; absent: the last.
WorkForm form_of_axis(Types inputs, Types results, const Attributes& attributes);
/// `transpose` and `permute_dims`: trailing axes that stay.
WorkForm transpose_form(Types inputs, Types results, const Attributes& attributes);
WorkForm permute_form(Types inputs, Types results, const Attributes& attributes);
/// Pieces of operands joined along `axis`: those of the smallest operand.
WorkForm join_form(Types inputs, Types results, const Attributes& attributes);

}  // namespace cleave::ops
