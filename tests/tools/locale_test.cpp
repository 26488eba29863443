// Under a locale that writes 1.5 as `1,5`, all reading and writing is as under the C locale. The test makes the locale itself, since
// machines differ in the locales that they have.
#include <gtest/gtest.h>

#include <clocale>
#include <cstdlib>
#include <locale>
#include <map>

#include "graph/array/npy.h"
#include "graph/base/units.h"
#include "graph/text/text.h"
#include "models/model.h"
#include "partitioner/compile.h"
#include "partitioner/report/explain.h"
#include "partitioner/solver/problem_json.h"
#include "tests/support/command.h"

/// The C library keeps the folders of LOCPATH, split, until the process ends, and nothing points to them.
extern "C" const char* __lsan_default_suppressions() {
  return "leak:argz_add_sep";
}  // NOLINT(bugprone-reserved-identifier)

namespace cleave::testing {
namespace {

using namespace planner;

constexpr const char* kLocaleModel = R"(cleave: 1
model: numbers
inputs:
  x: {type: "f64[3]", file: x.csv}
parameters:
  w: {type: "f32[64, 64]", uniform: [-0.125, 0.125], seed: 3}
program:
  - for: i in 1500
    do:
      - if: sum(x) * 0.5 > 1.25e-3
        probability: 0.0625
        then:
          - print("x", x * 1234567.5)
      - w: tanh(matmul(w, w)) * 0.999 + 1e-400
outputs: [x, w]
)";

/// The outputs of everything that writes or reads fractional numbers, by description.
std::map<std::string, std::string> everything(const TemporaryFolder& folder) {
  std::map<std::string, std::string> said;
  const Graph graph = read_model(folder.path("model.yaml"));
  for (const Diagnostic& diagnostic : graph.diagnostics) said["diagnostics"] += diagnostic.message + "\n";
  said["graph"] = print(graph);
  const Result<Graph> again = parse_graph(said["graph"], "a.graph");
  said["graph, read again"] = again ? print(*again) : again.error().message;
  said["csv"] = to_string(*read_csv(folder.path("x.csv"), {DType::f64, {3}}));

  PlanOptions options;
  options.costs.machine = *Machine::shipped("simulated");
  options.costs.machine.host.overhead_seconds = 1.5e-7;
  options.costs.has_accelerator = true;
  options.costs.supported = [](const Graph&, NodeId) { return true; };
  options.costs.profile.expected["model.yaml:9:5"] = 2.5;
  said["machine"] = to_yaml(options.costs.machine);
  const Result<Machine> machine = Machine::parse(said["machine"], "a.yaml");
  said["machine, read again"] = machine ? to_yaml(*machine) : machine.error().message;
  EXPECT_TRUE(options.costs.profile.save(folder.path("profile.json")));
  said["profile"] = folder.read("profile.json");
  const Result<Profile> profile = Profile::load(folder.path("profile.json"));
  said["profile, read again"] = profile ? std::to_string(profile->expected.size()) : profile.error().message;
  const Plan planned = plan(graph, options);
  said["explain"] = explain_text(planned);
  said["explain --json"] = explain_json(planned);
  said["dot"] = dot(planned);
  for (const Diagnostic& diagnostic : planned.diagnostics) said["advice"] += diagnostic.message + "\n";

  for (const double number : {0.0, 1.5, 0.00123, 2345.6, 1e9, 1.5e-8})
    said["units"] += format_bytes(number) + " " + format_seconds(number) + "\n";
  said["units, read"] = std::to_string(static_cast<int>(split_unit("1.5GiB")->number * 1000));
  const Result<LoadedProblem> problem = parse_problem(R"({"regions": [{"parent": null, "frequency": 2.5}], "values": [], "uses": [],
    "nodes": [{"region": 0, "host_seconds": 1.25, "accelerator_seconds": 0.125}]})",
                                                      ProblemFormat::cleave);
  said["problem"] = problem ? placement_json(*problem, *solve(problem->problem)) : problem.error().message;
  said["problem"].resize(said["problem"].find("\"solve_seconds\"") == std::string::npos ? said["problem"].size()
                                                                                        : said["problem"].find("\"solve_seconds\""));
  return said;
}

TEST(Locale, NothingFollowsIt) {
  const TemporaryFolder folder;
  write_file(folder.path("model.yaml"), kLocaleModel);
  write_file(folder.path("x.csv"), "0.5,1.5e-3,1234567890.125\n");
  const std::map<std::string, std::string> expected = everything(folder);
  ASSERT_NE(expected.at("explain").find('.'), std::string::npos);
  ASSERT_EQ(expected.at("graph"), expected.at("graph, read again"));

  const std::string made = "localedef -i de_DE -f UTF-8 '" + folder.path("de_DE.UTF-8") + "' >/dev/null 2>&1";
  if (std::system(made.c_str()) != 0) GTEST_SKIP() << "no locale can be made here: the package `locales` is missing";
  ASSERT_EQ(::setenv("LOCPATH", folder.path("").c_str(), 1), 0);
  ASSERT_NE(std::setlocale(LC_ALL, "de_DE.UTF-8"), nullptr);
  const std::locale before = std::locale::global(std::locale("de_DE.UTF-8"));
  ASSERT_EQ(std::to_string(1.5), "1,500000") << "the locale is not in force";
  const std::map<std::string, std::string> found = everything(folder);
  std::locale::global(before);
  std::setlocale(LC_ALL, "C");
  EXPECT_EQ(found, expected);
  for (const auto& [what, text] : expected) EXPECT_EQ(found.at(what), text) << what;
}

}  // namespace
}  // namespace cleave::testing
