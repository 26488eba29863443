// What a model declares before its program: dims, inputs, parameters; and the checks that all sections share.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/reader/evaluator.h"
#include "models/reader/expression.h"

namespace cleave::models {

/// The entries of a section that must be a map; none (and an error) otherwise.
const std::vector<YamlEntry>& section_entries(const YamlNode& node, const std::string& section, Errors& errors);
/// Whether `key`, which is missing, may be there under another name: then that one was reported, and it is not missed.
bool may_be_misspelt(const YamlEntry& entry, const std::string& key, const std::vector<std::string>& keys);
/// Whether the value is a map with no other keys than `keys` (others are reported but do no harm). `what` is for the message.
bool check_keys(const YamlEntry& entry, const std::vector<std::string>& keys, const std::string& what, Errors& errors);
std::optional<TensorType> read_type(const YamlNode& node, Evaluator& evaluator);

/// `given` takes the place of the values in the model; a name there that is no dim is an error.
void read_dims(const YamlNode* node, const std::map<std::string, std::int64_t>& given, Evaluator& evaluator);
void read_inputs(const YamlNode& node, Evaluator& evaluator);
void read_parameters(const YamlNode& node, Evaluator& evaluator);

/// `file:` of an input or parameter as an attribute.
void read_file_key(const YamlNode& node, Attributes& attributes, Errors& errors);
/// `value`, `uniform`, `normal`, `file` and `seed` of a parameter of `type`; `position` is the seed where none is given.
Attributes read_initial_value(const YamlEntry& entry, const Name& name, const TensorType& type, std::int64_t position,
                              Evaluator& evaluator);

}  // namespace cleave::models
