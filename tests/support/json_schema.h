// Validates documents against docs/schema and lists the violations as sentences. Stricter than the published schemas, which let later
// versions add fields: here a field that no schema describes is an error.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace cleave::testing {

class JsonSchema {
 public:
  /// The schema of that name in `docs/schema`, with the definitions that it uses from `docs/schema/common.json`.
  explicit JsonSchema(const std::string& name);
  ~JsonSchema();
  JsonSchema(const JsonSchema&) = delete;
  JsonSchema& operator=(const JsonSchema&) = delete;

  /// The violations in `document`, with their positions; empty if it is valid.
  [[nodiscard]] std::vector<std::string> faults(const nlohmann::json& document) const;

  /// The file's JSON unchanged, with its fields in their order.
  static nlohmann::ordered_json file(const std::string& name);

 private:
  struct Compiled;
  std::unique_ptr<Compiled> whole_, errors_;
};

}  // namespace cleave::testing
