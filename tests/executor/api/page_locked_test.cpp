// Page-locked arrays and results in the caller's memory: what an Array remembers, files and DLPack, runs on the simulated accelerator.
#include "executor/api/page_locked.h"
#include "executor/api/back_ends.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <utility>

#include "executor/api/executable.h"
#include "executor/check/reference.h"
#include "graph/array/npy.h"
#include "graph/ops/ops.h"
#include "graph/trace/trace.h"
#include "tests/support/namespaces.h"
#include "tests/support/temporary_folder.h"

namespace cleave::testing {
namespace {

using ::testing::HasSubstr;

Array simulated(const Shape& shape, std::initializer_list<float> values = {}) {
  Result<Array> array = page_locked({DType::f32, shape}, "simulated");
  if (!array) ADD_FAILURE() << array.error().message;
  std::copy(values.begin(), values.end(), array->mutable_data<float>());
  return *array;
}

TEST(PageLocked, IsRememberedByCopiesAndMovesNotByClones) {
  Array array = simulated({2}, {1, 2});
  EXPECT_TRUE(array.page_locked());
  EXPECT_EQ(array.page_lock(), PageLock::simulated);
  const std::byte* memory = array.bytes();
  array.mutable_data<float>()[0] = 3;
  EXPECT_EQ(array.bytes(), memory) << "written in place";
  Array copy = array;
  EXPECT_TRUE(copy.page_locked());
  copy.mutable_data<float>()[0] = 4;
  EXPECT_FALSE(copy.page_locked());
  EXPECT_EQ(array.at(0), 3);
  const Array moved = std::move(array);
  EXPECT_TRUE(moved.page_locked());
  EXPECT_EQ(moved.bytes(), memory);
  EXPECT_FALSE(Array(TensorType{}).page_locked());
}

TEST(PageLocked, IsReleasedOnce) {
  std::vector<float> memory(4);
  int released = 0;
  {
    Array array = Array::own(
        {DType::f32, {4}}, memory.data(), [&] { ++released; }, PageLock::accelerator);
    array.mutable_data<float>()[3] = 5;
    const Array copy = array;
    array = Array();
    EXPECT_EQ(released, 0);
  }
  EXPECT_EQ(released, 1);
  EXPECT_EQ(memory[3], 5);
}

TEST(PageLocked, IsWhatTheDeviceMakesOfIt) {
  const Result<Array> array = page_locked({DType::i32, {3}}, "simulated");
  ASSERT_TRUE(array.ok());
  EXPECT_EQ(*array, Array(TensorType{DType::i32, {3}})) << "zero-filled";
  EXPECT_TRUE(page_locked({DType::f32, {0}}, "simulated").ok());
  const Result<Array> none = page_locked({DType::f32, {2}}, "none");
  ASSERT_TRUE(none.ok());
  EXPECT_FALSE(none->page_locked());
  const Result<Array> tpu = page_locked({DType::f32, {2}}, "tpu");
  ASSERT_FALSE(tpu.ok());
  EXPECT_EQ(tpu.error().kind, ErrorKind::usage);
  EXPECT_FALSE(page_locked({DType::u8, {std::int64_t{1} << 62}}, "simulated").ok());
  if (choose_device("cuda").ok()) return;
  const Result<Array> gpu = page_locked({DType::f32, {2}}, "cuda");
  ASSERT_FALSE(gpu.ok());
  EXPECT_EQ(gpu.error().kind, ErrorKind::machine);
  EXPECT_TRUE(page_locked({DType::f32, {2}})->page_locked()) << "auto: simulated";
}

TEST(PageLocked, IsFilledFromAnNpyFile) {
  const test::TemporaryFolder folder;
  ASSERT_TRUE(write_npy(folder.path("x.npy"), Array::of<float>({2, 2}, {1, 2, 3, 4})).ok());
  Array array = simulated({2, 2});
  const std::byte* memory = array.bytes();
  ASSERT_TRUE(read_npy(folder.path("x.npy"), array).ok());
  EXPECT_EQ(array, Array::of<float>({2, 2}, {1, 2, 3, 4}));
  EXPECT_EQ(array.bytes(), memory);
  EXPECT_TRUE(array.page_locked());
  Array other = simulated({4});
  const Status wrong = read_npy(folder.path("x.npy"), other);
  ASSERT_FALSE(wrong.ok());
  EXPECT_THAT(wrong.error().message, HasSubstr("holds f32[2, 2], but f32[4] is wanted"));
  const Status missing = read_npy(folder.path("y.npy"), other);
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().kind, ErrorKind::file);
}

TEST(PageLocked, GoesOutByDlpackAndIsKnownWhenItComesIn) {
  struct Tensor {  // as its consumers declare it
    void* data;
    std::int32_t device, ordinal;
  };
  std::vector<float> memory{1, 2};
  int released = 0;
  Array array = Array::own(
      {DType::f32, {2}}, memory.data(), [&] { ++released; }, PageLock::accelerator);
  void* exported = array.to_dlpack();
  array = Array();
  auto* tensor = static_cast<Tensor*>(exported);
  EXPECT_EQ(tensor->data, memory.data());
  EXPECT_EQ(tensor->device, 1) << "CPU memory to every reader";
  {
    const Result<Array> back = Array::from_dlpack(exported);
    ASSERT_TRUE(back.ok());
    EXPECT_EQ(*back, Array::of<float>({2}, {1, 2}));
    EXPECT_FALSE(back->page_locked());
    EXPECT_EQ(released, 0);
  }
  EXPECT_EQ(released, 1);
  exported = Array::of<float>({1}, {7}).to_dlpack();
  static_cast<Tensor*>(exported)->device = 3;  // kDLCUDAHost
  const Result<Array> host = Array::from_dlpack(exported);
  ASSERT_TRUE(host.ok());
  EXPECT_EQ(host->page_lock(), PageLock::accelerator);
  EXPECT_TRUE(host->borrowed());
}

/// y and z on the accelerator; z is printed too, so that the host reads it. w is the argument itself.
Graph program() {
  return trace("program", {{"x", "f32[4]"}}, [](Tensor x) {
    Tensor y = named("y", x * x);
    Tensor z = named("z", y + 1);
    print("z", z);
    return std::tuple(y, z, named("w", x * 1.0));
  });
}

CompileOptions on(ExecutorOptions::Schedule schedule) {
  CompileOptions options;
  options.device = "simulated";
  options.placement = Policy::accelerator;
  options.executor.schedule = schedule;
  options.executor.check_memory = true;
  return options;
}

TEST(PageLocked, ResultsComeIntoTheCallersMemory) {
  for (const auto schedule : {ExecutorOptions::Schedule::eager, ExecutorOptions::Schedule::latest, ExecutorOptions::Schedule::random}) {
    const Graph graph = program();
    ASSERT_TRUE(graph.ok()) << graph.diagnostics.begin()->message;
    const Result<Executable> compiled = compile(graph, on(schedule));
    ASSERT_TRUE(compiled.ok()) << compiled.error().message;
    RunOptions options;
    Array x = simulated({4}, {1, 2, 3, 4});
    std::string printed;
    options.print = [&](std::string_view line) { printed = line; };
    for (const bool locked : {true, false}) {
      options.results = {{"y", locked ? simulated({4}) : Array(TensorType{DType::f32, {4}})}, {"z", simulated({4})}};
      for (int run = 0; run < 3; ++run) {
        const auto first = static_cast<float>(run);
        const std::byte* memory = x.bytes();
        x.mutable_data<float>()[0] = first;
        EXPECT_EQ(x.bytes(), memory) << "the run before has let go of it";
        options.inputs.insert_or_assign("x", x);
        const Result<RunResult> result = compiled->run(options);
        options.inputs.clear();
        ASSERT_TRUE(result.ok()) << result.error().message;
        EXPECT_EQ(*result->output("y"), Array::of<float>({4}, {first * first, 4, 9, 16}));
        EXPECT_EQ(*result->output("z"), Array::of<float>({4}, {first * first + 1, 5, 10, 17}));
        EXPECT_EQ(result->output("y")->bytes(), options.results.at("y").bytes());
        EXPECT_EQ(result->output("z")->bytes(), options.results.at("z").bytes());
        EXPECT_THAT(printed, HasSubstr("5."));
      }
    }
  }
}

TEST(PageLocked, ResultsAreToldEarlyFromTheCallersMemory) {
  const Result<Executable> compiled = compile(program(), on(ExecutorOptions::Schedule::eager));
  ASSERT_TRUE(compiled.ok());
  const Array y = simulated({4});
  RunOptions options;
  options.print = [](std::string_view) {};
  options.inputs.emplace("x", simulated({4}, {1, 2, 3, 4}));
  options.results.emplace("y", y);
  const cleave::Run run = compiled->submit(options);
  const Result<Array> early = run.get("y");
  ASSERT_TRUE(early.ok()) << early.error().message;
  EXPECT_EQ(early->bytes(), y.bytes());
  EXPECT_EQ(y, Array::of<float>({4}, {1, 4, 9, 16}));
  EXPECT_TRUE(run.wait().ok());
}

TEST(PageLocked, TheReferenceDeliversThereToo) {
  RunOptions options;
  options.print = [](std::string_view) {};
  options.inputs.emplace("x", simulated({4}, {1, 2, 3, 4}));
  options.results.emplace("y", simulated({4}));
  const Result<RunResult> result = run_reference(program(), options);
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_EQ(result->output("y")->bytes(), options.results.at("y").bytes());
  EXPECT_EQ(options.results.at("y"), Array::of<float>({4}, {1, 4, 9, 16}));
}

TEST(PageLocked, RefusesResultsThatCannotBeWritten) {
  const Result<Executable> compiled = compile(program(), on(ExecutorOptions::Schedule::eager));
  ASSERT_TRUE(compiled.ok());
  const Array x = simulated({4}), y = simulated({4});
  const std::vector<float> memory(4);
  const auto error = [&](std::map<std::string, Array> results) {
    RunOptions options;
    options.print = [](std::string_view) {};
    options.inputs.emplace("x", x);
    options.results = std::move(results);
    const Result<RunResult> result = compiled->run(options);
    return result.ok() ? Error{"ran"} : result.error();
  };
  EXPECT_EQ(error({{"yy", y}}).message, "the program has no output `yy`; did you mean `y`?");
  EXPECT_EQ(error({{"yy", y}}).kind, ErrorKind::unknown);
  EXPECT_EQ(error({{"y", simulated({5})}}).message, "the array for the output `y` is f32[5], not f32[4]");
  EXPECT_EQ(error({{"y", Array::borrow({DType::f32, {4}}, memory.data())}}).message,
            "the array for the output `y` is borrowed and cannot be written");
  EXPECT_EQ(error({{"y", x}}).message, "the array for the output `y` shares its memory with the argument `x`");
  EXPECT_EQ(error({{"y", y}, {"z", y}}).message, "the array for the output `z` shares its memory with that for `y`");
  EXPECT_EQ(error({{"y", y}}).message, "ran");
}

}  // namespace
}  // namespace cleave::testing
