// cleave in one header: trace or load a program, compile it, run it. See graph/trace/trace.h for the first lines of a program.
#pragma once

// IWYU pragma: begin_exports
#include "executor/api/executable.h"
#include "executor/api/page_locked.h"
#include "executor/api/specialized.h"
#include "graph/array/array.h"
#include "graph/array/npy.h"
#include "graph/base/diagnostic_text.h"
#include "graph/base/version.h"
#include "graph/ops/array_functions.h"
#include "graph/ops/attention.h"
#include "graph/ops/cells.h"
#include "graph/ops/einsum.h"
#include "graph/ops/elementary.h"
#include "graph/ops/fourier.h"
#include "graph/ops/linear_algebra.h"
#include "graph/ops/neural.h"
#include "graph/ops/ops.h"
#include "graph/ops/quantization.h"
#include "graph/ops/recurrent.h"
#include "graph/ops/statistics.h"
#include "graph/ops/updates.h"
#include "graph/text/text.h"
#include "graph/trace/host_call.h"
#include "graph/trace/trace.h"
#include "models/model.h"
// IWYU pragma: end_exports
