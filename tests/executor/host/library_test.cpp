// Host functions from shared libraries, through the C interface: built here with the system's compiler.
#include "executor/host/library.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <thread>

#include "graph/array/array.h"
#include "graph/call_limits.h"
#include "graph/trace/host_call.h"
#include "graph/trace/trace.h"
#include "tests/support/namespaces.h"
#include "tests/support/op_call.h"
#include "tests/support/places.h"
#include "tests/support/temporary_folder.h"

namespace cleave::testing {
namespace {

constexpr const char* kSource = R"(
#include <cleave/host_function.h>
#include <string.h>
int twice(int version, const cleave_array *in, int n, cleave_array *out, int m, char *error, size_t size) {
  if (version != CLEAVE_HOST_FUNCTION_VERSION || n != 1 || m != 1) return 1;
  if (in[0].dtype != CLEAVE_F32 || in[0].rank != 2 || in[0].shape[0] != 2 || in[0].shape[1] != 3) {
    strncpy(error, "wants f32[2, 3]", size - 1);
    return 7;
  }
  for (int i = 0; i < 6; ++i) ((float *)out[0].data)[i] = 2 * ((const float *)in[0].data)[i];
  return 0;
}
int bytes(int version, const cleave_array *in, int n, cleave_array *out, int m, char *error, size_t size) {
  if (out[0].dtype != CLEAVE_BOOL) return 1;
  for (int i = 0; i < 6; ++i) ((unsigned char *)out[0].data)[i] = (unsigned char)(i % 2 ? 0 : 1 << i | 2);
  return 0;
}
int silent(int version, const cleave_array *in, int n, cleave_array *out, int m, char *error, size_t size) { return 3; }
int chatty(int version, const cleave_array *in, int n, cleave_array *out, int m, char *error, size_t size) {
  memset(error, 'x', size);
  return 1;
}
)";

class Library : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string source = folder.write("functions.c", kSource);
    const std::string command =
        std::string("cc -shared -fPIC -I ") + source_dir() + "/executor/host/include -o " + folder.path("libfunctions.so") + " " + source;
    if (std::system(command.c_str()) != 0) GTEST_SKIP() << "no C compiler";
  }
  HostFunction declared(const std::string& symbol) {
    HostFunction function;
    function.name = symbol;
    function.returns = {TensorType{DType::f32, {2, 3}}};
    function.library = folder.path("libfunctions.so");
    function.symbol = symbol;
    return function;
  }
  static Status call(const HostFunction& function, const Array& input, Array& result) {
    return function.call(std::span(&input, 1), std::span(&result, 1), CallLimits());
  }
  test::TemporaryFolder folder;
  const Array input = Array::of<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  Array result{TensorType{DType::f32, {2, 3}}};
};

TEST_F(Library, CallsTheFunctionOnTheArrays) {
  Result<HostFunction> function = load_host_function(declared("twice"), {});
  ASSERT_TRUE(function.ok()) << function.error().message;
  ASSERT_TRUE(call(*function, input, result).ok());
  EXPECT_EQ(result.at(5), 12);
}

TEST_F(Library, ErrorsCarryTheFunctionsText) {
  Result<HostFunction> twice = load_host_function(declared("twice"), {});
  ASSERT_TRUE(twice.ok());
  const Status wrong = call(*twice, Array::of<float>({1}, {1}), result);
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.error().message, "wants f32[2, 3]");
  const Status silent = call(*load_host_function(declared("silent"), {}), input, result);
  EXPECT_EQ(silent.error().message, "the host function failed with code 3");
  const Status chatty = call(*load_host_function(declared("chatty"), {}), input, result);
  EXPECT_EQ(chatty.error().message, std::string(511, 'x'));
}

/// The bytes of a result after the op has taken it over.
std::vector<int> bytes_of(const HostFunction& function) {
  const auto results = call_op(*find_op("host_call"), {Array::of<float>({2, 3}, {1, 2, 3, 4, 5, 6})},
                               {{"function", std::make_shared<const HostFunction>(function)}});
  if (!results) return {};
  std::vector<int> bytes;
  for (std::int64_t i = 0; i < results->at(0).size(); ++i) bytes.push_back(static_cast<int>(results->at(0).bytes()[i]));
  return bytes;
}

TEST_F(Library, AnyByteButZeroIsTrueInABoolResult) {
  HostFunction function = declared("bytes");
  function.returns = {TensorType{DType::boolean, {2, 3}}};
  Result<HostFunction> bound = load_host_function(function, {});
  ASSERT_TRUE(bound.ok()) << bound.error().message;
  EXPECT_EQ(bytes_of(*bound), std::vector<int>({1, 0, 1, 0, 1, 0}));
}

/// The function of the only host_call that `record` makes of a f32[2, 3].
HostFunction traced(const std::function<Tensor(Tensor)>& record) {
  const Graph graph = trace("t", {{"x", "f32[2, 3]"}}, record);
  for (const Node& node : graph.nodes) {
    if (node.op && node.op->name == "host_call") return *node.attributes.get<std::shared_ptr<const HostFunction>>("function");
  }
  return {};
}

TEST(HostCallBools, AreNormalisedFromCppSoonerOrLater) {
  const auto write = [](Array& out) { std::memset(out.mutable_bytes(), 2, 6); };
  EXPECT_EQ(bytes_of(traced([=](Tensor x) {
              return host_call(
                  "f", {"bool[2, 3]"}, [=](const Array&, Array& out) { write(out); }, x);
            })),
            std::vector<int>(6, 1));
  EXPECT_EQ(bytes_of(traced([=](Tensor x) {
              return host_call(
                  "f", {"bool[2, 3]"},
                  [=](const Array&, Array& out, HostToken token) {
                    std::thread([&out, token, write] {
                      write(out);
                      token.done();
                    }).detach();
                  },
                  x);
            })),
            std::vector<int>(6, 1));
}

TEST_F(Library, IsFoundInTheFurtherFoldersByItsFileName) {
  HostFunction function = declared("twice");
  function.library = "/nowhere/at/all/libfunctions.so";
  EXPECT_FALSE(load_host_function(function, {}).ok());
  EXPECT_FALSE(load_host_function(function, {"/nor/here"}).ok());
  const std::string there = folder.path("");
  EXPECT_TRUE(load_host_function(function, {"/nor/here", there}).ok());
}

TEST_F(Library, MissingSymbolsAndBrokenFilesAreNamed) {
  const auto missing = load_host_function(declared("nothing"), {});
  ASSERT_FALSE(missing.ok());
  EXPECT_NE(missing.error().message.find("`nothing`"), std::string::npos);
  HostFunction broken = declared("twice");
  broken.library = folder.write("broken.so", "this is no library");
  const auto refused = load_host_function(broken, {});
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("broken.so"), std::string::npos);
}

}  // namespace
}  // namespace cleave::testing
