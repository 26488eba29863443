// Which models are YAML files that edits can be written into, whatever their file name, and where the text of such a file comes from.
#include "models/fixes.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "models/model.h"
#include "partitioner/compile.h"
#include "tests/support/namespaces.h"
#include "tests/support/temporary_folder.h"

namespace cleave::testing {
namespace {

constexpr const char* kText = "cleave: 1\ninputs: {x: \"f32[4]\"}\nprogram:\n  - y: x * 2\n  - z: x + 1\noutputs: [y]\n";

/// The advice to remove the unused statement.
std::vector<Advice> advice_of(const std::string& path) {
  const Plan plan = planner::plan(parse_model(kText, path), {});
  EXPECT_EQ(plan.advice.size(), 1U);
  return plan.advice;
}

TEST(ModelFixes, AreOfYamlWhateverItsName) {
  for (const char* path : {"m.yaml", "m.yml", "m.txt", "model", "-", "m.onnx.yaml"}) EXPECT_TRUE(is_yaml_model(path)) << path;
  for (const char* path : {"m.onnx", "a/m.graph"}) EXPECT_FALSE(is_yaml_model(path)) << path;
  const test::TemporaryFolder folder;
  for (const char* name : {"m.yaml", "m.yml", "m.txt", "m"}) {
    const std::string path = folder.write(name, kText);
    const std::vector<Fix> fixes = find_model_fixes(advice_of(path), path);
    ASSERT_EQ(fixes.size(), 1U) << name;
    EXPECT_EQ(fixes[0].id, find_fixes(advice_of(path), kText, path)[0].id);
    EXPECT_EQ(edited(kText, fixes[0].edits), "cleave: 1\ninputs: {x: \"f32[4]\"}\nprogram:\n  - y: x * 2\noutputs: [y]\n");
  }
}

TEST(ModelFixes, AreOfTheTextThatIsGivenOrReadOnce) {
  const test::TemporaryFolder folder;
  const std::string path = folder.path("m.yaml"), text = kText;
  EXPECT_TRUE(find_model_fixes(advice_of(path), path).empty()) << "there is no such file";
  EXPECT_EQ(find_model_fixes(advice_of(path), path, &text).size(), 1U);
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_TRUE(find_model_fixes(advice_of(path), path).empty()) << "a pipe is not read twice";
  const std::string graph = folder.path("m.graph");
  EXPECT_TRUE(find_model_fixes(advice_of(graph), graph, &text).empty());
}

}  // namespace
}  // namespace cleave::testing
