// `functions:` and `host_functions:` of a model: declared here, called from calls.cpp and program.cpp.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "models/reader/evaluator.h"
#include "models/reader/statement.h"

namespace cleave::models {

struct Function {
  Name name;
  std::vector<Name> takes;
  std::vector<Statement> body;
  std::vector<Name> returns;
  bool recursive = false;  ///< reported; must not be inlined
};

using Functions = std::map<std::string, Function, std::less<>>;

/// Checks only the form of the functions, and that none calls itself, directly or through others.
Functions read_functions(const YamlNode& node, Errors& errors);
HostFunctions read_host_functions(const YamlNode& node, Evaluator& evaluator);

}  // namespace cleave::models
