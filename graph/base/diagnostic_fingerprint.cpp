#include "graph/base/diagnostic_fingerprint.h"

#include <algorithm>
#include <map>

#include "graph/base/source_lines.h"
#include "graph/base/text_hash.h"

namespace cleave {
namespace {

std::string without(std::string_view text, std::string_view characters) {
  std::string kept;
  std::copy_if(text.begin(), text.end(), std::back_inserter(kept), [&](char c) { return characters.find(c) == std::string_view::npos; });
  return kept;
}

/// Identifies a place without a statement (as in a file that could not be read): by the chain of calls and the line's text, not its number.
void add_place(TextHash& hash, const SourceLocation& place, SourceLines& lines) {
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
    TextHash hash;
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
