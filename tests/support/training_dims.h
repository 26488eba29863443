// Sizes at which tests run the models of the zoo that train or generate: whole ones would take the reference executor minutes.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace cleave::testing {

/// By the model's name; other models have none.
inline const std::map<std::string, std::map<std::string, std::int64_t>>& training_dims() {
  static const std::map<std::string, std::map<std::string, std::int64_t>> dims = {
      {"char_transformer", {{"steps", 2}, {"batch", 2}, {"context", 8}, {"width", 8}, {"heads", 2}, {"unseen", 4}}},
      {"digits_cnn", {{"passes", 1}, {"size", 1900}, {"narrow", 2}, {"wide", 2}}},
      {"digits_mlp", {{"passes", 1}, {"size", 1900}, {"width", 8}}},
      {"generate", {{"texts", 2}, {"length", 6}, {"context", 8}, {"width", 8}, {"heads", 2}}},
      {"generate_before", {{"texts", 2}, {"length", 6}, {"context", 8}, {"width", 8}, {"heads", 2}}}};
  return dims;
}

}  // namespace cleave::testing
