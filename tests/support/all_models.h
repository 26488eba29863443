// Every model file of the source tree, for tests of properties that all plans or documents must have.
#pragma once

#include <algorithm>
#include <filesystem>
#include <vector>

#include "tests/support/places.h"

namespace cleave::testing {

/// Paths of models, examples of the documents and golden cases, sorted; some contain errors on purpose.
inline std::vector<std::filesystem::path> all_models() {
  std::vector<std::filesystem::path> paths;
  for (const char* folder : {"models", "docs/examples", "tests/golden"})
    for (const auto& entry : std::filesystem::recursive_directory_iterator(std::filesystem::path(source_dir()) / folder))
      if (entry.path().extension() == ".yaml") paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  return paths;
}

/// Paths of the zoo's models, sorted.
inline std::vector<std::filesystem::path> zoo_models() {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(source_dir()) / "models"))
    if (entry.path().extension() == ".yaml") paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace cleave::testing
