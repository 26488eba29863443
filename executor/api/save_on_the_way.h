// save_on_the_way: writes the states of a program with save points (graph/trace/save_points.h) to a file whenever a run reaches one.
#pragma once

#include <string>

#include "executor/run/executor.h"
#include "graph/trace/save_points.h"

namespace cleave::runtime {

/// Must be called before a run of `executor`, which must outlive that run. `path` is one that check_savable accepts.
void save_on_the_way(const SavePoints& points, Executor& executor, const std::string& model, const std::string& path);

}  // namespace cleave::runtime
