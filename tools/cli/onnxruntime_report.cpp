#include "tools/cli/onnxruntime_report.h"

#include <algorithm>
#include <cmath>

#include "graph/base/units.h"
#include "graph/base/utf8.h"
#include "models/onnx/onnx_model.h"
#include "partitioner/report/explain.h"

namespace cleave::cli {
namespace {

using models::onnx::OrtCopy;

/// Transfers within the program in one run. Inputs and outputs of the run are excluded, as they are the same for both plans.
struct Sends {
  double count = 0, bytes = 0;
};
Sends sends(const Plan& plan) {
  Sends sum;
  for (const Transfer& transfer : plan.transfers.items) {
    if (transfer.kind != TransferKind::send) continue;
    sum.count += transfer.frequency;
    sum.bytes += transfer.frequency * static_cast<double>(transfer.bytes);
  }
  return sum;
}

std::string plural(std::size_t count, const char* one, const char* many) {
  return std::to_string(count) + " " + (count == 1 ? one : many);
}

/// The number of copies in a run, rounded; an estimate if there are loops.
std::string whole(double count) {
  return std::to_string(static_cast<std::int64_t>(std::llround(count)));
}

std::string plan_line(const char* name, const Plan& plan) {
  const Sends sum = sends(plan);
  return std::string("  ") + name + ": " + whole(sum.count) + (sum.count == 1 ? " copy of " : " copies of ") + format_bytes(sum.bytes) +
         ", " + predicted_phrase(plan) + "\n";
}

}  // namespace

Result<OnnxRuntimeReport> compare_with_onnxruntime(const Options& options, const Plan& placed) {
  OnnxRuntimeReport report;
  report.rule = models::onnxruntime_placement(options.model, model_options(options));
  for (const OrtCopy& copy : report.rule.copies) report.copied_bytes += copy.bytes;
  report.placed = placed;
  Options free = options;
  free.onnxruntime = false;
  free.placement = Policy::optimal;
  Result<Plan> optimum = make_plan(load_graph(free), free);
  if (!optimum) return optimum.error();
  report.optimum = *std::move(optimum);
  return report;
}

std::string to_text(const OnnxRuntimeReport& report, std::size_t most_rows) {
  const std::vector<OrtCopy>& copies = report.rule.copies;
  std::string text = "\nby ONNX Runtime's rule, " + std::to_string(report.rule.host.size()) + " of " +
                     plural(report.rule.nodes, "node", "nodes") + " of the file on the host, and " +
                     plural(copies.size(), "copy", "copies") + " of " + format_bytes(static_cast<double>(report.copied_bytes)) +
                     " between its nodes\n";
  for (std::size_t i = 0; i < std::min(copies.size(), most_rows); ++i)
    text += std::string("    ") + (copies[i].to_host ? "to the host         " : "to the accelerator  ") + "`" +
            escape_controls_one_line(copies[i].value) + "`, " + format_bytes(static_cast<double>(copies[i].bytes)) + ", from " +
            escape_controls_one_line(copies[i].producer) + " for " + escape_controls_one_line(copies[i].consumer) + "\n";
  if (copies.size() > most_rows) text += "    and " + std::to_string(copies.size() - most_rows) + " more; --all shows them\n";
  return text + plan_line("with shapes known when the model is read", report.placed) + plan_line("the optimum", report.optimum);
}

void write_json(JsonWriter& json, const OnnxRuntimeReport& report) {
  const auto plan = [&](const char* name, const Plan& one) {
    const Sends sum = sends(one);
    json.object(name, [&] {
      json.field("copies", sum.count);
      json.field("bytes", sum.bytes);
      json.field("predicted_seconds", one.predicted_seconds);
    });
  };
  json.object("onnxruntime", [&] {
    json.field("nodes", report.rule.nodes);
    json.field("host_nodes", report.rule.host.size());
    json.list("host", [&] {
      for (const std::string& title : report.rule.host) json.value(title);
    });
    json.field("copied_bytes", report.copied_bytes);
    json.list("copies", [&] {
      for (const OrtCopy& copy : report.rule.copies) {
        json.object([&] {
          json.field("value", copy.value);
          json.field("producer", copy.producer);
          json.field("consumer", copy.consumer);
          json.field("bytes", copy.bytes);
          json.field("direction", copy.to_host ? "accelerator_to_host" : "host_to_accelerator");
        });
      }
    });
    plan("placed", report.placed);
    plan("optimum", report.optimum);
  });
}

}  // namespace cleave::cli
