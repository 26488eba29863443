// Host functions from shared libraries, through the C interface: built here with the system's compiler.
#include "executor/host/library.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "graph/array/array.h"
#include "tests/support/namespaces.h"
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
    const std::string command = std::string("cc -shared -fPIC -I ") + CLEAVE_SOURCE_DIR + "/executor/host/include -o " +
                                folder.path("libfunctions.so") + " " + source;
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
    return function.call(std::span(&input, 1), std::span(&result, 1));
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
