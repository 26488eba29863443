// The project's models at sizes for tests, with the results of the reference executor.
#pragma once

#include <filesystem>
#include <map>

#include "graph/base/diagnostic_text.h"
#include "graph/gradient/differentiate.h"
#include "models/model.h"
#include "tests/executor/run_support.h"
#include "tests/support/namespaces.h"
#include "tests/support/places.h"
#include "tests/support/training_dims.h"

namespace cleave::testing {

/// The folder in which the examples' host functions are built.
inline const std::vector<std::string> kHostFunctions = {binary_dir() + "/lib"};

struct ProjectModel {
  std::string path;
  std::shared_ptr<const Graph> graph;
  Outcome expected;
};

/// All models that can run here: those whose host functions are built.
inline std::vector<ProjectModel> project_models() {
  // Sizes for a build without optimization; where there are none, the model's own files set them.
  std::map<std::string, std::map<std::string, std::int64_t>> small = {
      {"cpu_only_loop", {{"batch", 16}, {"width", 16}, {"units", 8}}},
      {"naive_transfer", {{"rows", 16}, {"width", 16}}},
      {"naive_transfer_after", {{"rows", 16}, {"width", 16}}},
      {"power_iteration", {{"n", 32}}},
      {"resident_embedding", {{"words", 64}, {"width", 8}, {"batch", 16}}},
      {"resident_embedding_before", {{"words", 64}, {"width", 8}, {"batch", 16}}},
      {"simulator_loop", {{"cranes", 8}, {"hidden", 16}}}};
  small.insert(training_dims().begin(), training_dims().end());
  std::vector<ProjectModel> models;
  for (const auto& entry : std::filesystem::directory_iterator(source_dir() + "/models")) {
    if (entry.path().extension() != ".yaml") continue;
    const auto dims = small.find(entry.path().stem().string());
    const ModelOptions options{dims == small.end() ? std::map<std::string, std::int64_t>() : dims->second};
    ProjectModel model{entry.path().string(), std::make_shared<const Graph>(differentiate(read_model(entry.path().string(), options))), {}};
    EXPECT_TRUE(model.graph->ok()) << model.path << ": " << to_text(model.graph->diagnostics);
    if (!model.graph->ok()) continue;
    model.expected =
        without_states(run_with({}, [&](const RunOptions& o) { return run_reference(*model.graph, o, kHostFunctions); }), *model.graph);
    // Rounding decides when its loop ends: one iteration more or less changes the eigenvector by a thousandth.
    if (entry.path().stem() == "power_iteration") model.expected.reduction_length = 1e6;
    const bool built = model.expected.result.ok() || model.expected.result.error().message.find("there is no library") == std::string::npos;
    if (built) models.push_back(std::move(model));
  }
  return models;
}

}  // namespace cleave::testing
