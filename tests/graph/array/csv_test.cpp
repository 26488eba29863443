// csv tables of numbers: what is read, and the position named in every error.
#include <gtest/gtest.h>

#include <cmath>

#include "graph/array/npy.h"
#include "tests/support/temporary_folder.h"

namespace cleave {
namespace {

using test::TemporaryFolder;

Result<Array> read(std::string_view content, const TensorType& type) {
  const TemporaryFolder folder;
  return read_array(folder.write("a.csv", content), type);
}

void expect_error(std::string_view content, const TensorType& type, const std::string& message, int line, int column) {
  const TemporaryFolder folder;
  const std::string path = folder.write("a.csv", content);
  const Result<Array> array = read_csv(path, type);
  ASSERT_FALSE(array) << content;
  EXPECT_EQ(array.error().message, "cannot read `" + path + "`: " + message);
  EXPECT_EQ(array.error().location.file_name(), path);
  EXPECT_EQ(array.error().location.line, line) << content;
  EXPECT_EQ(array.error().location.column, column) << content;
}

TEST(Csv, ReadsTables) {
  const Array expected = Array::of<float>({2, 2}, {1, -2.5F, 1e10F, 0.1F});
  EXPECT_EQ(*read("1,-2.5\n1e10,0.1\n", {DType::f32, {2, 2}}), expected);
  EXPECT_EQ(*read("1,-2.5\n1e10,0.1", {DType::f32, {2, 2}}), expected);
  EXPECT_EQ(*read("\xef\xbb\xbf 1 ,\t-2.5\r\n\r\n+1e10, 0.1 \r\n\n", {DType::f32, {2, 2}}), expected);
}

TEST(Csv, TheShapeIsTheTypes) {
  EXPECT_EQ(read("1,2\n3,4\n", {DType::i32, {4}})->shape(), (Shape{4}));
  EXPECT_EQ(*read("7", {DType::i64, {}}), Array::scalar<std::int64_t>(7));
  EXPECT_EQ(read("", {DType::f32, {0, 3}})->size(), 0);
  EXPECT_EQ(read("\n \n", {DType::f32, {0}})->size(), 0);
}

TEST(Csv, ReadsEveryElementType) {
  EXPECT_EQ(*read("9223372036854775807,-9223372036854775808", {DType::i64, {2}}),
            Array::of<std::int64_t>({2}, {std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()}));
  EXPECT_EQ(*read("1.000000000000000000e+00,2.5e1", {DType::u8, {2}}), Array::of<std::uint8_t>({2}, {1, 25}));
  EXPECT_EQ(*read("0,1,true,False", {DType::boolean, {4}}), Array::of<bool>({4}, {false, true, true, false}));
  EXPECT_EQ(*read("0.1", {DType::f64, {}}), Array::scalar(0.1));
  EXPECT_EQ(*read("0.1", {DType::f16, {}}), Array::scalar(Half(0.1F)));
  EXPECT_EQ(*read("1e-60", {DType::f32, {}}), Array::scalar(0.0F));
  EXPECT_TRUE(std::isnan(read("nan", {DType::f32, {}})->at(0)));
  EXPECT_EQ(read("-inf", {DType::f64, {}})->at(0), -INFINITY);
}

TEST(Csv, ErrorsNameLineAndColumn) {
  expect_error("1,2\n3,x4\n", {DType::f32, {2, 2}}, "`x4` is no f32", 2, 3);
  expect_error("1, 2z", {DType::f32, {2}}, "`2z` is no f32", 1, 4);
  expect_error("a,b\n1,2\n", {DType::f32, {2}}, "`a` is no f32", 1, 1);
  expect_error("1,,2", {DType::f32, {3}}, "`` is no f32", 1, 3);
  expect_error("1,2,\n", {DType::f32, {3}}, "`` is no f32", 1, 5);
  expect_error("1\r2\n", {DType::f32, {2}}, "`1\r2` is no f32", 1, 1);
  expect_error("256", {DType::u8, {1}}, "`256` is no u8", 1, 1);
  expect_error("-1", {DType::u8, {1}}, "`-1` is no u8", 1, 1);
  expect_error("1.5", {DType::i32, {1}}, "`1.5` is no i32", 1, 1);
  expect_error("3000000000", {DType::i32, {1}}, "`3000000000` is no i32", 1, 1);
  expect_error("2", {DType::boolean, {1}}, "`2` is no bool", 1, 1);
  expect_error("1e60", {DType::f32, {1}}, "`1e60` is no f32", 1, 1);
  expect_error("+-1", {DType::f32, {1}}, "`+-1` is no f32", 1, 1);
}

TEST(Csv, CountsValuesAndRows) {
  expect_error("1,2\n3,4\n", {DType::f32, {3}}, "too many values for `f32[3]`", 2, 3);
  expect_error("1,2\n", {DType::f32, {3}}, "`f32[3]` takes 3 values, but the file has 2", 0, 0);
  expect_error("1,2\n3\n", {DType::f32, {3}}, "this row has 1 values, the first one has 2", 2, 1);
  expect_error("", {DType::f32, {1}}, "too few values for `f32[1]`", 0, 0);
  expect_error("1", {DType::f32, {std::int64_t{1} << 50}}, "too few values for `f32[1125899906842624]`", 0, 0);
  EXPECT_FALSE(read("1", {DType::f32, {std::int64_t{1} << 62, 4}}));
}

TEST(Csv, MissingFilesAndFoldersAreErrors) {
  const TemporaryFolder folder;
  EXPECT_EQ(read_csv(folder.path("no.csv"), {}).error().message, "cannot read `" + folder.path("no.csv") + "`: No such file or directory");
  std::filesystem::create_symlink("/dev/zero", folder.path("endless.csv"));
  EXPECT_EQ(read_csv(folder.path("endless.csv"), {}).error().message, "cannot read `" + folder.path("endless.csv") + "`: File too large");
  EXPECT_EQ(read_csv(folder.path(""), {}).error().message, "cannot read `" + folder.path("") + "`: Is a directory");
}

}  // namespace
}  // namespace cleave
