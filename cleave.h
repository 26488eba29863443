// cleave in one header: trace or load a program, compile it, run it. See graph/trace.h for the first lines of a program.
#pragma once

// IWYU pragma: begin_exports
#include "executor/executable.h"
#include "executor/page_locked.h"
#include "executor/specialized.h"
#include "graph/array.h"
#include "graph/diagnostic_text.h"
#include "graph/host_call.h"
#include "graph/npy.h"
#include "graph/ops/ops.h"
#include "graph/text.h"
#include "graph/trace.h"
#include "graph/version.h"
#include "models/model.h"
// IWYU pragma: end_exports
