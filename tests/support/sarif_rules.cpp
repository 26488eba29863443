#include "tests/support/sarif_rules.h"

#include <algorithm>
#include <map>
#include <regex>
#include <set>

namespace cleave::testing {
namespace {

using nlohmann::json;

/// A property and its type: `text`, `uri`, `uri-reference`, `bool`, `count` (from 1), `index` (from 0), `map` (of texts), `one of a|b`,
/// `object NAME`, `list NAME`, `set NAME` (a list without equal items). A `!` behind the name: it must be there.
using Properties = std::map<std::string, std::string>;

const std::map<std::string, Properties>& rules() {
  static const std::map<std::string, Properties> table = {
      {"log", {{"$schema", "uri"}, {"version!", "one of 2.1.0"}, {"runs!", "list run"}}},
      {"run", {{"tool!", "object tool"}, {"columnKind", "one of utf16CodeUnits|unicodeCodePoints"}, {"results", "list result"}}},
      {"tool", {{"driver!", "object component"}}},
      {"component",
       {{"name!", "text"}, {"version", "text"}, {"semanticVersion", "text"}, {"informationUri", "uri"}, {"rules", "set rule"}}},
      {"rule",
       {{"id!", "text"},
        {"name", "text"},
        {"shortDescription", "object words"},
        {"fullDescription", "object words"},
        {"help", "object words"},
        {"helpUri", "uri"},
        {"defaultConfiguration", "object configuration"}}},
      {"words", {{"text!", "text"}, {"markdown", "text"}}},
      {"configuration", {{"enabled", "bool"}, {"level", "one of none|note|warning|error"}}},
      {"result",
       {{"ruleId", "text"},
        {"ruleIndex", "index"},
        {"level", "one of none|note|warning|error"},
        {"message!", "object message"},
        {"locations", "list location"},
        {"relatedLocations", "set location"},
        {"partialFingerprints", "map"},
        {"suppressions", "set suppression"},
        {"fixes", "set fix"}}},
      {"fix", {{"description", "object message"}, {"artifactChanges!", "set change"}}},
      {"change", {{"artifactLocation!", "object artifact"}, {"replacements!", "list replacement"}}},
      {"replacement", {{"deletedRegion!", "object region"}, {"insertedContent", "object content"}}},
      {"content", {{"text", "text"}}},
      {"message", {{"text!", "text"}, {"markdown", "text"}}},  // `text` or `id` is required, and cleave does not use `id`
      {"location", {{"id", "index"}, {"physicalLocation", "object place"}, {"message", "object message"}}},
      {"place", {{"artifactLocation!", "object artifact"}, {"region", "object region"}}},  // this or `address` is required
      {"artifact", {{"uri!", "uri-reference"}}},
      {"region", {{"startLine!", "count"}, {"startColumn", "count"}, {"endLine", "count"}, {"endColumn", "count"}}},
      {"suppression",
       {{"kind!", "one of inSource|external"}, {"status", "one of accepted|underReview|rejected"}, {"justification", "text"}}},
  };
  return table;
}

class Checker {
 public:
  std::vector<std::string> faults;

  void object(const json& value, const std::string& name, const std::string& path) {
    if (!value.is_object()) return fault(path, "is no object");
    const Properties& properties = rules().at(name);
    for (const auto& [property, type] : properties)
      if (property.back() == '!' && !value.contains(property.substr(0, property.size() - 1))) fault(path, "lacks " + property);
    for (const auto& [key, item] : value.items()) {
      auto found = properties.find(key);
      if (found == properties.end()) found = properties.find(key + "!");
      if (found == properties.end())
        fault(path, "has an unknown property " + key);
      else
        check(item, found->second, path + "." + key);
    }
  }

 private:
  void fault(const std::string& path, const std::string& what) { faults.push_back(path + " " + what); }

  void check(const json& value, const std::string& type, const std::string& path) {
    const std::string kind = type.substr(0, type.find(' ')), rest = type.substr(std::min(type.size(), kind.size() + 1));
    if (kind == "object") return object(value, rest, path);
    if (kind == "list" || kind == "set") return list(value, rest, kind == "set", path);
    if (kind == "one") return word(value, rest.substr(3), path);
    if (kind == "bool" && !value.is_boolean()) fault(path, "is no bool");
    if (kind == "count" && !(value.is_number_integer() && value >= 1)) fault(path, "is not counted from 1");
    if (kind == "index" && !(value.is_number_integer() && value >= 0)) fault(path, "is no index");
    if (kind == "map") texts(value, path);
    if (kind == "text" && !value.is_string()) fault(path, "is no text");
    if (kind.starts_with("uri")) uri(value, kind == "uri", path);
  }

  void list(const json& value, const std::string& item, bool distinct, const std::string& path) {
    if (!value.is_array()) return fault(path, "is no list");
    std::set<std::string> seen;
    for (std::size_t i = 0; i < value.size(); ++i) {
      object(value[i], item, path + "[" + std::to_string(i) + "]");
      if (distinct && !seen.insert(value[i].dump()).second) fault(path, "has item " + std::to_string(i) + " twice");
    }
  }

  void word(const json& value, const std::string& words, const std::string& path) {
    if (!value.is_string() || ("|" + words + "|").find("|" + value.get<std::string>() + "|") == std::string::npos)
      fault(path, "is none of " + words);
  }

  void texts(const json& value, const std::string& path) {
    if (!value.is_object()) return fault(path, "is no map");
    for (const auto& [key, item] : value.items())
      if (!item.is_string()) fault(path + "." + key, "is no text");
  }

  void uri(const json& value, bool absolute, const std::string& path) {
    static const std::regex characters("([A-Za-z0-9._~:/?#\\[\\]@!$&'()*+,;=-]|%[0-9A-F]{2})*");
    static const std::regex scheme("[A-Za-z][A-Za-z0-9+.-]*:.*");
    if (!value.is_string() || !std::regex_match(value.get<std::string>(), characters)) return fault(path, "is no URI");
    if (absolute && !std::regex_match(value.get<std::string>(), scheme)) fault(path, "is no absolute URI");
  }
};

}  // namespace

std::vector<std::string> sarif_faults(const json& document) {
  Checker checker;
  checker.object(document, "log", "$");
  return checker.faults;
}

}  // namespace cleave::testing
