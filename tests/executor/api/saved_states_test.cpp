// States in files: a run that is stopped, saved and resumed in another Executable equals one that went on, bit for bit.
#include <gtest/gtest.h>

#include <cstring>

#include "executor/api/executable.h"
#include "graph/array/safetensors.h"
#include "graph/ops/gradient.h"
#include "graph/ops/ops.h"
#include "graph/ops/optim.h"
#include "graph/states.h"
#include "graph/trace/trace.h"
#include "tests/support/namespaces.h"
#include "tests/support/temporary_folder.h"

namespace cleave::testing {
namespace {

/// One step of training per run: weights, moments and counter are states.
Graph training_step() {
  Graph graph =
      trace("step", {{"w", "f32[3, 2]"}, {"m", "f32[3, 2]"}, {"v", "f32[3, 2]"}, {"step", "i32[]"}, {"x", "f32[4, 3]"}},
            [](Tensor w, Tensor m, Tensor v, Tensor step, Tensor x) {
              const Tensor noise = random_normal({4, 2}, 0, 1, {.seed = 3, .step = step});
              const Tensor loss = mean(square(matmul(x, w) - noise));
              auto [next, m1, v1] = optim::adamw(w, gradient(loss, w), m, v, {.rate = 0.1, .step = step, .weight_decay = 0.01});
              return std::tuple(named("next", next), named("m1", m1), named("v1", v1), named("count", step + 1), named("loss", loss));
            });
  for (const auto& [input, output] : {std::pair("w", "next"), std::pair("m", "m1"), std::pair("v", "v1"), std::pair("step", "count")})
    EXPECT_TRUE(keep_state(graph, input, output));
  return graph;
}

Executable::Inputs start() {
  const Array zeros({DType::f32, {3, 2}});
  return {{"w", Array::of<float>({3, 2}, {1, 2, 3, 4, 5, 6})}, {"m", zeros}, {"v", zeros}, {"step", Array::scalar(std::int32_t{0})}};
}

Executable::Inputs with_data(Executable::Inputs inputs) {
  inputs.emplace("x", Array::of<float>({4, 3}, {1, 0, 2, -1, 3, 1, 0, 0, 1, 2, 2, 2}));
  return inputs;
}

Executable compiled(const char* device) {
  Result<Executable> program = compile(training_step(), {.device = device});
  EXPECT_TRUE(program) << program.error().message;
  return *std::move(program);
}

bool same_bits(const Array& a, const Array& b) {
  return a.type() == b.type() && std::memcmp(a.bytes(), b.bytes(), static_cast<std::size_t>(a.type().bytes())) == 0;
}

TEST(SavedStates, ResumeToTheSameBits) {
  for (const char* device : {"none", "simulated"}) {
    SCOPED_TRACE(device);
    const test::TemporaryFolder folder;
    const Executable whole = compiled(device), first = compiled(device), second = compiled(device);
    for (int i = 0; i < 7; ++i) ASSERT_TRUE(whole.run(with_data(i == 0 ? start() : Executable::Inputs())));
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(first.run(with_data(i == 0 ? start() : Executable::Inputs())));
    ASSERT_TRUE(first.save_states(folder.path("after3")));
    ASSERT_TRUE(second.load_states(folder.path("after3")));
    for (int i = 0; i < 4; ++i) ASSERT_TRUE(second.run(with_data({})));
    for (const char* name : {"w", "m", "v", "step"}) EXPECT_TRUE(same_bits(*whole.state(name), *second.state(name))) << name;
  }
}

TEST(SavedStates, AreCheckedBeforeAnythingChanges) {
  const test::TemporaryFolder folder;
  const Executable program = compiled("none");
  EXPECT_FALSE(program.save_states(folder.path("none")));  // it has not run
  ASSERT_TRUE(program.run(with_data(start())));
  SafeTensors wrong;
  wrong.arrays = {{"w", Array({DType::f32, {2, 3}})},
                  {"v", Array({DType::f32, {3, 2}})},
                  {"other", Array({DType::f32, {}})},
                  {"step", Array::scalar(std::int32_t{0})}};
  ASSERT_TRUE(write_safetensors(folder.path("wrong.safetensors"), wrong));
  const Status refused = program.load_states(folder.path("wrong.safetensors"));
  ASSERT_FALSE(refused);
  for (const char* part :
       {"wrong.safetensors", "`w` is f32[2, 3] there and f32[3, 2] in the program", "`other` is no state", "it lacks `m`"})
    EXPECT_NE(refused.error().message.find(part), std::string::npos) << refused.error().message;
  EXPECT_EQ(program.state("step")->at(0), 1);
  ASSERT_TRUE(program.run(with_data({})));
  EXPECT_EQ(program.state("step")->at(0), 2);
}

}  // namespace
}  // namespace cleave::testing
