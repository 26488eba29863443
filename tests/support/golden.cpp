#include "tests/support/golden.h"
#include "tests/support/namespaces.h"
#include "tests/support/places.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

namespace cleave::testing {

void expect_golden(const std::string& name, const std::string& text) {
  const std::string path = source_dir() + "/tests/golden/" + name;
  if (const char* update = std::getenv("CLEAVE_UPDATE_GOLDEN"); update && std::string(update) == "1") {
    std::ofstream(path, std::ios::binary) << text;
    return;
  }
  std::ifstream file(path, std::ios::binary);
  ASSERT_TRUE(file) << path << " is missing; CLEAVE_UPDATE_GOLDEN=1 writes it";
  const std::string expected((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  EXPECT_EQ(expected, text) << path << " (CLEAVE_UPDATE_GOLDEN=1 writes what is true)";
}

}  // namespace cleave::testing
