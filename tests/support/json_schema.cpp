#include "tests/support/json_schema.h"

#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>

#include "tests/support/command.h"
#include "tests/support/places.h"

namespace cleave::testing {
namespace {

using nlohmann::json;

/// References into common.json lead to definitions of the same document, and objects have no other fields than those described.
void make_strict(json& schema) {
  if (schema.is_object()) {
    if (schema.contains("properties") && !schema.contains("additionalProperties")) schema["additionalProperties"] = false;
    if (const auto reference = schema.find("$ref"); reference != schema.end()) {
      const std::string to = *reference;
      *reference = to.substr(to.find('#'));
    }
  }
  if (schema.is_structured())
    for (json& inside : schema) make_strict(inside);
}

}  // namespace

struct JsonSchema::Compiled {
  valijson::Schema schema;
  explicit Compiled(const json& source) {
    valijson::SchemaParser parser;
    parser.populateSchema(valijson::adapters::NlohmannJsonAdapter(source), schema);
  }

  [[nodiscard]] std::vector<std::string> faults(const json& document) const {
    valijson::Validator validator;
    valijson::ValidationResults results;
    std::vector<std::string> found;
    if (validator.validate(schema, valijson::adapters::NlohmannJsonAdapter(document), &results)) return found;
    for (valijson::ValidationResults::Error error; results.popError(error);) {
      std::string where;
      for (const std::string& step : error.context) where += step;
      found.push_back(where + ": " + error.description);
    }
    return found;
  }
};

nlohmann::ordered_json JsonSchema::file(const std::string& name) {
  return nlohmann::ordered_json::parse(read_file(source_dir() + "/docs/schema/" + name + ".json"));
}

JsonSchema::JsonSchema(const std::string& name) {
  json schema = file(name);
  schema["definitions"].update(json(file("common"))["definitions"]);
  make_strict(schema);
  schema.erase("anyOf");  // the caller knows which alternative applies, and errors are clearer without it
  schema["$ref"] = "#/definitions/" + name;
  whole_ = std::make_unique<Compiled>(schema);
  schema["$ref"] = "#/definitions/errors";
  errors_ = std::make_unique<Compiled>(schema);
}

JsonSchema::~JsonSchema() = default;

std::vector<std::string> JsonSchema::faults(const json& document) const {
  const bool only_errors = document.size() == 2 && document.contains("cleave") && document.contains("diagnostics");
  return (only_errors ? errors_ : whole_)->faults(document);
}

}  // namespace cleave::testing
