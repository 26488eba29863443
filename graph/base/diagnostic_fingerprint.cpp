#include "graph/base/diagnostic_fingerprint.h"

#include <algorithm>
#include <cstdio>
#include <map>

#include "graph/base/source_lines.h"

namespace cleave {
namespace {

/// FNV-1a, 64 bits: equal on all machines, and no secret.
class Hash {
 public:
  void add(std::string_view text) {
    for (const char c : text) hash_ = (hash_ ^ static_cast<unsigned char>(c)) * kPrime;
    hash_ *= kPrime;  // an end
  }
  [[nodiscard]] std::string text() const {
    char digits[17];
    std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(hash_));
    return digits;
  }

 private:
  static constexpr std::uint64_t kPrime = 0x100000001b3;
  std::uint64_t hash_ = 0xcbf29ce484222325;
};

std::string without(std::string_view text, std::string_view characters) {
  std::string kept;
  std::copy_if(text.begin(), text.end(), std::back_inserter(kept), [&](char c) { return characters.find(c) == std::string_view::npos; });
  return kept;
}

/// Where the program has no statement, as in what could not be read: the calls that led there and the line's text, but not its number.
void add_place(Hash& hash, const SourceLocation& place, SourceLines& lines) {
  for (const SourceFrame* frame = place.via.get(); frame; frame = frame->location.via.get()) hash.add(frame->label);
  const std::string* line = place.known() ? lines.line(place) : nullptr;
  if (line) hash.add(without(*line, " \t\r"));
}

}  // namespace

std::vector<std::string> fingerprints(const Diagnostics& diagnostics, const StatementOf& statement_of) {
  std::vector<std::string> prints;
  std::map<std::string, int> times;
  SourceLines lines;
  for (const Diagnostic& diagnostic : diagnostics) {
    Hash hash;
    hash.add(info(diagnostic.kind).name);
    hash.add(without(diagnostic.message, "0123456789"));
    const std::string statement = statement_of ? statement_of(diagnostic.location) : "";
    if (statement.empty())
      add_place(hash, diagnostic.location, lines);
    else
      hash.add(statement);
    const std::string text = hash.text();
    prints.push_back(std::string(kFingerprintVersion) + text + ":" + std::to_string(++times[text]));
  }
  return prints;
}

}  // namespace cleave
