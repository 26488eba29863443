// `functions:`, `host_functions:` and `models:` of a model: declared here, called from calls.cpp and program.cpp.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "models/model.h"
#include "models/reader/evaluator.h"
#include "models/reader/statement.h"

namespace cleave::models {

struct Function {
  Name name;
  std::vector<Parameter> takes;
  std::vector<Statement> body;
  std::vector<Name> returns;
  std::optional<GradientKey> gradient;
  Recompute recompute = Recompute::automatic;
  bool included = false;   ///< from an included file
  bool recursive = false;  ///< reported; must not be inlined
};

using Functions = std::map<std::string, Function, std::less<>>;

/// Adds the functions of a section, without those whose names `functions` has. Checks only their form.
void read_functions(const YamlNode& node, Functions& functions, Errors& errors);
/// Adds the functions of the files that `include:` names, as read_functions does. Their texts become part of `source`, which `errors`
/// reads.
void read_includes(const YamlNode& node, Functions& functions, Source& source, Errors& errors);
/// Reports functions that call themselves, directly or through others.
void check_recursion(Functions& functions, Errors& errors);
/// The value of the key `gradient`; nothing, with an error, if it is wrong.
std::optional<GradientKey> read_gradient_key(const YamlNode& node, Errors& errors);
/// Reports gradients that are no functions of the model, or that take another number of arguments than they are given. Their owners are
/// left without a gradient.
void check_gradients(Functions& functions, Evaluator& evaluator);
HostFunctions read_host_functions(const YamlNode& node, Evaluator& evaluator);
/// Opens the ONNX files of `models:`, and declares their weights as groups of parameters. `options` are those of the whole model.
void read_models(const YamlNode& node, const ModelOptions& options, Evaluator& evaluator);
/// Warns of the models of the section that the program, which was read, does not call.
void warn_of_uncalled_models(const YamlNode& section, Evaluator& evaluator);

}  // namespace cleave::models
