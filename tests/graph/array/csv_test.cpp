// CSV tables of numbers: the accepted forms, and the position named in every error.
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

void expect_csv_error(std::string_view content, const TensorType& type, const std::string& message, int line, int column) {
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
  EXPECT_EQ(read("1,2,3,4\n", {DType::i32, {4}})->shape(), (Shape{4}));
  EXPECT_EQ(read("1\n2\n3\n4\n", {DType::i32, {4}})->shape(), (Shape{4}));
  EXPECT_EQ(read("1,2\n3,4\n", {DType::i32, {2, 2}})->shape(), (Shape{2, 2}));
  // For more than two axes, rows follow the first or the last axis, as in `a.reshape(len(a), -1)` and `a.reshape(-1, a.shape[-1])`.
  EXPECT_EQ(read("1,2,3,4\n5,6,7,8\n", {DType::i32, {2, 2, 2}})->at(4), 5);
  EXPECT_EQ(read("1,2\n3,4\n5,6\n7,8\n", {DType::i32, {2, 2, 2}})->at(4), 5);
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
  expect_csv_error("1,2\n3,x4\n", {DType::f32, {2, 2}}, "`x4` is no f32", 2, 3);
  expect_csv_error("1, 2z", {DType::f32, {2}}, "`2z` is no f32", 1, 4);
  expect_csv_error("a,b\n1,2\n", {DType::f32, {2}}, "`a` is no f32", 1, 1);
  expect_csv_error("1,,2", {DType::f32, {3}}, "`` is no f32", 1, 3);
  expect_csv_error("1,2,\n", {DType::f32, {3}}, "`` is no f32", 1, 5);
  expect_csv_error("1\r2\n", {DType::f32, {2}}, "`1\r2` is no f32", 1, 1);
  expect_csv_error("256", {DType::u8, {1}}, "`256` is no u8", 1, 1);
  expect_csv_error("-1", {DType::u8, {1}}, "`-1` is no u8", 1, 1);
  expect_csv_error("1.5", {DType::i32, {1}}, "`1.5` is no i32", 1, 1);
  expect_csv_error("3000000000", {DType::i32, {1}}, "`3000000000` is no i32", 1, 1);
  expect_csv_error("2", {DType::boolean, {1}}, "`2` is no bool", 1, 1);
  expect_csv_error("1e60", {DType::f32, {1}}, "`1e60` is no f32", 1, 1);
  expect_csv_error("+-1", {DType::f32, {1}}, "`+-1` is no f32", 1, 1);
}

TEST(Csv, CountsRows) {
  expect_csv_error("1,2\n3\n", {DType::f32, {3}}, "this row has 1 values, the first one has 2", 2, 1);
  expect_csv_error("1\n3,4,5\n", {DType::f32, {1}}, "this row has 3 values, the first one has 1", 2, 1);
}

TEST(Csv, AnotherShapeIsAnErrorWithBoth) {
  const TemporaryFolder folder;
  const auto expect = [&](std::string_view content, const Shape& wanted, const std::string& has) {
    const TensorType type{DType::f32, wanted};
    const std::string path = folder.write("a.csv", content);
    const Result<Array> array = read_csv(path, type);
    ASSERT_FALSE(array) << content << to_string(type);
    EXPECT_EQ(array.error().message, "`" + path + "` holds " + has + ", but " + to_string(type) + " is wanted");
  };
  expect("1,2\n3,4\n5,6\n", {2, 3}, "f32[3, 2]");
  expect("1,2\n3,4\n", {4}, "f32[2, 2]");
  expect("1,2\n3,4\n", {2, 1}, "f32[2, 2]");
  expect("1,2\n3,4\n", {4, 1}, "f32[2, 2]");
  expect("1,2,3,4\n", {4, 1}, "f32[1, 4]");
  expect("1\n2\n3\n4\n", {1, 4}, "f32[4, 1]");
  expect("1,2,3,4\n5,6,7,8\n", {4, 2, 1}, "f32[2, 4]");
  expect("1,2,3,4\n5,6,7,8\n", {2, 2, 3}, "f32[2, 4]");
  expect("1,2\n", {3}, "f32[2]");
  expect("1,2\n3,4\n", {3}, "f32[2, 2]");
  expect("1,2\n", {}, "f32[2]");
  expect("", {1}, "f32[0, 0]");
  expect("1", {0, 3}, "f32[1, 1]");
  expect("1", {std::int64_t{1} << 50}, "f32[1]");
  EXPECT_FALSE(read("1", {DType::f32, {std::int64_t{1} << 62, 4}}));
}

TEST(Csv, MissingFilesAndFoldersAreErrors) {
  const TemporaryFolder folder;
  EXPECT_EQ(read_csv(folder.path("no.csv"), {}).error().message, "cannot read `" + folder.path("no.csv") + "`: No such file or directory");
  std::filesystem::create_symlink("/dev/zero", folder.path("endless.csv"));
  EXPECT_EQ(read_csv(folder.path("endless.csv"), {}).error().message,
            "cannot read `" + folder.path("endless.csv") + "`: the file is larger than 1.0 MiB");
  EXPECT_EQ(read_csv(folder.path("endless.csv"), {DType::f32, {1 << 16}}).error().message,
            "cannot read `" + folder.path("endless.csv") + "`: the file is larger than 9.0 MiB");
  EXPECT_EQ(read_csv(folder.path(""), {}).error().message, "cannot read `" + folder.path("") + "`: Is a directory");
}

}  // namespace
}  // namespace cleave
