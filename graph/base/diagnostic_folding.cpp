#include "graph/base/diagnostic_folding.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "graph/base/units.h"

namespace cleave {
namespace {

struct Folded {
  Diagnostic diagnostic;
  std::size_t count = 1;
};

void add(Price& to, const Price& more) {
  to.seconds += more.seconds;
  to.out_bytes += more.out_bytes;
  to.back_bytes += more.back_bytes;
  if (to.how_often != more.how_often) to.how_often.clear();
}

std::vector<Folded> equal_ones_once(const Diagnostics& diagnostics) {
  using Key = std::tuple<DiagnosticKind, Severity, std::string, int, std::string, std::string>;
  std::map<Key, std::size_t> places;
  std::vector<Folded> folded;
  for (const Diagnostic& d : diagnostics) {
    if (d.price) {
      const Key key{d.kind, d.severity, std::string(d.location.file_name()), d.location.line, d.message, d.price->cause};
      const auto [place, fresh] = places.emplace(key, folded.size());
      if (!fresh) {
        Folded& first = folded[place->second];
        ++first.count;
        add(*first.diagnostic.price, *d.price);
        continue;
      }
    }
    folded.push_back({d});
  }
  return folded;
}

void say_count(Folded& folded) {
  if (folded.count == 1) return;
  Diagnostic& d = folded.diagnostic;
  d.message += " (\u00D7" + std::to_string(folded.count) + ")";
  Price price = *d.price;
  price.how_often = (price.how_often.empty() ? "" : "each " + price.how_often + "; ") + "together";
  d.notes[price.note].message = to_text(price);
}

/// Sorts within each kind and severity; only their own positions are permuted.
void costliest_first(std::vector<Folded>& folded) {
  std::map<std::pair<DiagnosticKind, Severity>, std::vector<std::size_t>> places;
  for (std::size_t i = 0; i < folded.size(); ++i) {
    if (folded[i].diagnostic.price) places[{folded[i].diagnostic.kind, folded[i].diagnostic.severity}].push_back(i);
  }
  for (const auto& [kind, at] : places) {
    std::vector<Folded> sorted;
    for (const std::size_t i : at) sorted.push_back(std::move(folded[i]));
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const Folded& a, const Folded& b) { return a.diagnostic.price->seconds > b.diagnostic.price->seconds; });
    for (std::size_t k = 0; k < at.size(); ++k) folded[at[k]] = std::move(sorted[k]);
  }
}

/// One summary line for the omitted diagnostics of a kind.
Diagnostic rest_of(DiagnosticKind kind, Severity severity, std::size_t count, double seconds) {
  std::string message = std::to_string(count) + " more of this kind" + (count == 1 ? " is" : " are") + " not shown";
  if (seconds > 0) message += "; together about " + format_seconds(seconds) + " a run";
  return {kind, severity, std::move(message), {}, 0, {{"`--diagnostic-limit 0` shows all", {}, 0}}};
}

}  // namespace

std::string to_text(const Price& price) {
  return price.how_often + ": " + format_bytes(price.out_bytes) + " out, " + format_bytes(price.back_bytes) + " back, about " +
         format_seconds(price.seconds) + " of " + format_seconds(price.whole_seconds) + " predicted (" + price.predicted_by + ")";
}

Diagnostics fold(const Diagnostics& diagnostics, std::size_t most) {
  std::vector<Folded> folded = equal_ones_once(diagnostics);
  for (Folded& each : folded) say_count(each);
  costliest_first(folded);
  Diagnostics shown;
  std::map<std::pair<DiagnosticKind, Severity>, std::pair<std::size_t, double>> left_out;
  std::size_t told = 0;
  for (Folded& each : folded) {
    const bool error = each.diagnostic.severity == Severity::error;
    if (error || most == 0 || told++ < most) {
      shown.add(std::move(each.diagnostic));
      continue;
    }
    auto& [count, seconds] = left_out[{each.diagnostic.kind, each.diagnostic.severity}];
    count += each.count;
    seconds += each.diagnostic.price ? each.diagnostic.price->seconds : 0;
  }
  for (const auto& [what, rest] : left_out) shown.add(rest_of(what.first, what.second, rest.first, rest.second));
  return shown;
}

}  // namespace cleave
