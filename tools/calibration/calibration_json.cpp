#include "tools/calibration/calibration_json.h"

#include "graph/base/json_writer.h"
#include "graph/base/version.h"
#include "tools/calibration/family_rates.h"
#include "tools/calibration/number_sources.h"

namespace cleave::calibration {
namespace {

void add_family(JsonWriter& json, const FamilyRate& rate) {
  json.object([&] {
    json.field("family", to_string(rate.family));
    json.field("tables", rate.tables);
    json.field("bytes_per_second", rate.median);
    json.field("best_bytes_per_second", rate.best);
    json.field("worst_bytes_per_second", rate.worst);
    json.field("worst_table", rate.worst_table);
    json.field("share_of_peak", rate.share_of_peak);
  });
}

void add_copy(JsonWriter& json, const CopyRate& copy) {
  json.object([&] {
    json.field("direction", copy.to_accelerator ? "to_device" : "to_host");
    json.field("memory", copy.pageable ? "pageable" : "page-locked");
    json.field("bytes", copy.bytes);
    json.field("seconds", copy.seconds);
    json.field("bytes_per_second", copy.bytes_per_second());
    json.field("share_of_link", copy.share_of_link);
  });
}

/// Writes the rates of the accelerator's kernels and copies.
void add_rates(JsonWriter& json, const Calibration& calibration) {
  json.field("memory_bytes_per_second", peak_of(calibration.kernels));
  json.list("kernels", [&] {
    for (const FamilyRate& rate : family_rates(calibration.kernels)) add_family(json, rate);
  });
  json.list("copies", [&] {
    for (const CopyRate& copy : copy_rates(calibration.machine.accelerators.front())) add_copy(json, copy);
  });
}

}  // namespace

std::string to_json(const Calibration& calibration, const std::string& file) {
  std::string text;
  JsonWriter json(text);
  json.object([&] {
    json.field("cleave", kVersion);
    json.field("file", file);
    json.field("provenance", calibration.machine.provenance);
    json.field("threads", calibration.machine.host.threads);
    json.field("tables", calibration.machine.host.points.size());
    json.field("left_out", calibration.left_out);
    json.field("core_share", calibration.core_share);
    json.list("numbers", [&] {
      for (const NumberSource& number : number_sources(calibration)) {
        json.object([&] {
          json.field("name", number.name);
          json.field("value", number.value);
          json.field("unit", number.unit);
          json.field("source", number.source());
        });
      }
    });
    json.object("fit", [&] {
      json.field("calls", calibration.fit.calls);
      json.field("median", calibration.fit.median);
      json.field("worst", calibration.fit.worst);
      json.field("worst_table", calibration.fit.worst_table);
    });
    json.object("latencies", [&] {
      for (const auto& [what, seconds] : calibration.latencies) json.field(what, seconds);
    });
    if (!calibration.latencies.empty()) add_rates(json, calibration);
  });
  return text;
}

}  // namespace cleave::calibration
