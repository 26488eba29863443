// Sizes of the zoo's models that train or generate. Whole runs take the reference implementations minutes, and rounding adds up in them
// until results of two devices cannot be compared.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "tests/support/namespaces.h"

namespace cleave::testing {

/// The dims of a model for a short run; none: the model is run as it is.
inline std::map<std::string, std::int64_t> short_run(const std::string& model) {
  static const std::map<std::string, std::map<std::string, std::int64_t>> dims = {
      {"char_transformer", {{"steps", 2}, {"batch", 2}, {"context", 8}, {"width", 8}, {"heads", 2}, {"unseen", 4}}},
      {"conjugate_gradient", {{"n", 16}}},
      {"digits_cnn", {{"passes", 1}, {"size", 1900}, {"narrow", 2}, {"wide", 2}}},
      {"digits_mlp", {{"passes", 1}, {"size", 1900}, {"width", 8}}},
      {"generate", {{"texts", 2}, {"length", 6}, {"context", 8}, {"width", 8}, {"heads", 2}}},
      {"generate_before", {{"texts", 2}, {"length", 6}, {"context", 8}, {"width", 8}, {"heads", 2}}},
      {"neural_ode", {{"starts", 8}, {"steps", 3}, {"width", 8}, {"updates", 2}}},
      {"pagerank", {{"pages", 64}, {"links", 256}}},
      {"pinn", {{"points", 8}, {"width", 8}, {"steps", 2}}},
      {"policy_gradient", {{"cranes", 8}, {"steps", 4}, {"updates", 2}, {"width", 8}}},
      {"recommender", {{"users", 64}, {"items", 16}, {"width", 8}, {"hidden", 8}, {"size", 32}, {"steps", 3}}},
  };
  const auto found = dims.find(model);
  return found == dims.end() ? std::map<std::string, std::int64_t>() : found->second;
}

}  // namespace cleave::testing
