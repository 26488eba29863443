// Reads the declarations of a model (dims, inputs, parameters), and has the checks that all sections share.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/reader/evaluator.h"
#include "models/reader/expression.h"

namespace cleave::models {

/// The entries of a section, which must be a map; empty, with an error, if it is not.
const std::vector<YamlEntry>& section_entries(const YamlNode& node, const std::string& section, Errors& errors);
/// Whether the missing `key` may be present under a misspelled name. That name was reported already, so the missing key is not reported.
bool may_be_misspelt(const YamlEntry& entry, const std::string& key, const std::vector<std::string>& keys);
/// Whether the value is a map. Keys that are not in `keys` are reported but do not make the result false. `what` names the value in
/// messages.
bool check_keys(const YamlEntry& entry, const std::vector<std::string>& keys, const std::string& what, Errors& errors);
std::optional<TensorType> read_type(const YamlNode& node, Evaluator& evaluator);

/// `given` overrides the values in the model; a name in `given` that is no dim is an error.
void read_dims(const YamlNode* node, const std::map<std::string, std::int64_t>& given, Evaluator& evaluator);
void read_inputs(const YamlNode& node, Evaluator& evaluator);
void read_parameters(const YamlNode& node, Evaluator& evaluator);

/// Sets the attribute `file` from the `file:` key of an input or parameter.
void read_file_key(const YamlNode& node, Attributes& attributes, Errors& errors);
/// Reads `value`, `file`, a distribution and `seed` of a parameter of `type`; `position` is the seed if none is given.
Attributes read_initial_value(const YamlEntry& entry, const Name& name, const TensorType& type, std::int64_t position,
                              Evaluator& evaluator);

}  // namespace cleave::models
