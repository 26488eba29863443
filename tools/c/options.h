// cleave_options: how a model is read, planned and run.
#pragma once

#include <cleave/c.h>

#include <string_view>

#include "executor/api/executable.h"
#include "models/model.h"

struct cleave_options {
  cleave::ModelOptions model;
  cleave::CompileOptions compile;
  std::string planning;  ///< the first option that was set and that a plan has already; empty: none
};

namespace cleave::c {

/// Sets one option from its text. An Error (usage) for an unknown name or a value that it cannot have.
Status set(cleave_options& options, std::string_view name, std::string_view value);

}  // namespace cleave::c
