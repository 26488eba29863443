// Array: sharing and cloning, borrowing, DLPack, text as NumPy writes it; Attributes compare by bits.
#include "graph/array/array.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <thread>

#include "graph/attributes.h"

namespace cleave {
namespace {

Array iota(Shape shape) {
  Array array(TensorType{DType::i32, std::move(shape)});
  std::iota(array.mutable_data<std::int32_t>(), array.mutable_data<std::int32_t>() + array.size(), 0);
  return array;
}

TEST(Array, IsZeroFilledAndAligned) {
  for (std::int64_t n : {0, 1, 7, 100000}) {
    const Array array(TensorType{DType::f64, {n}});
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(array.bytes()) % 64, 0u);
    for (double x : array.values<double>()) ASSERT_EQ(x, 0.0);
  }
}

TEST(Array, CopiesShareUntilWritten) {
  Array a = Array::of<float>({2}, {1, 2});
  Array b = a;
  EXPECT_EQ(a.bytes(), b.bytes());
  b.mutable_data<float>()[0] = 5;
  EXPECT_NE(a.bytes(), b.bytes());
  EXPECT_EQ(a, Array::of<float>({2}, {1, 2}));
  EXPECT_EQ(b, Array::of<float>({2}, {5, 2}));
  const std::byte* alone = b.bytes();
  b.mutable_data<float>()[1] = 6;
  EXPECT_EQ(b.bytes(), alone);
}

TEST(Array, ThreadsThatShareDoNotSeeEachOthersWrites) {
  const Array original = iota({1000});
  std::vector<Array> copies(4, original);
  std::vector<std::thread> threads;
  for (Array& copy : copies) {
    threads.emplace_back([&copy] {
      for (int i = 0; i < 100; ++i) copy.mutable_data<std::int32_t>()[i] += 1;
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Array& copy : copies) EXPECT_EQ(copy.values<std::int32_t>()[99], 100);
  EXPECT_EQ(original, iota({1000}));
}

TEST(Array, BorrowedMemoryIsReadInPlaceNeverWritten) {
  const std::vector<std::int64_t> memory{1, 2, 3};
  int released = 0;
  {
    Array array = Array::borrow({DType::i64, {3}}, memory.data(), [&] { ++released; });
    EXPECT_EQ(static_cast<const void*>(array.bytes()), memory.data());
    const Array copy = array;
    array.mutable_data<std::int64_t>()[0] = 9;
    EXPECT_EQ(released, 0);
    EXPECT_EQ(copy.values<std::int64_t>()[0], 1);
    EXPECT_EQ(array.values<std::int64_t>()[0], 9);
  }
  EXPECT_EQ(released, 1);
  EXPECT_EQ(memory[0], 1);
}

TEST(Array, AllocateRefusesWhatTheMachineLacks) {
  const Result<Array> huge = Array::allocate({DType::u8, {std::int64_t{1} << 62}});
  ASSERT_FALSE(huge);
  EXPECT_EQ(huge.error().kind, ErrorKind::machine);
  EXPECT_EQ(huge.error().message, "out of memory: `u8[4611686018427387904]` needs 4.0 EiB");
  EXPECT_FALSE(Array::allocate({DType::f32, {-1}}));
  EXPECT_FALSE(Array::copy_of<float>({-1}, {}));
  EXPECT_TRUE(Array::allocate({DType::f32, {10, 10}}));
}

TEST(Array, AtReadsEveryType) {
  EXPECT_EQ(Array::of<bool>({2}, {false, true}).at(1), 1.0);
  EXPECT_EQ(Array::scalar<std::uint8_t>(255).at(0), 255.0);
  EXPECT_EQ(Array::scalar<std::int64_t>(-5).at(0), -5.0);
  EXPECT_EQ(Array::scalar(Half(1.5F)).at(0), 1.5);
  EXPECT_EQ(Array::scalar(BFloat16(-2.0F)).at(0), -2.0);
  EXPECT_EQ(Array::scalar(0.1).at(0), 0.1);
}

TEST(Array, EqualityIsOfTypeAndBits) {
  EXPECT_FALSE(Array::scalar(0.0F) == Array::scalar(-0.0F));
  EXPECT_EQ(Array::scalar(NAN), Array::scalar(NAN));
  EXPECT_FALSE(Array::of<float>({2}, {0, 0}) == Array::of<float>({2, 1}, {0, 0}));
  EXPECT_FALSE(Array(TensorType{DType::i32, {2}}) == Array(TensorType{DType::f32, {2}}));
  EXPECT_EQ(Array(TensorType{DType::i32, {0}}), Array(TensorType{DType::i32, {0}}));
}

// --- text ---------------------------------------------------------------------------------------------------------------------------

TEST(ArrayText, NumbersAreTheShortest) {
  EXPECT_EQ(to_string(Array::of<float>({4}, {0.1F, 1, -2.5F, 3.1415927F})), "[0.1, 1.0, -2.5, 3.1415927]");
  EXPECT_EQ(to_string(Array::of<float>({3}, {16777217.0F, 1e16F, 1.5e-5F})), "[16777216.0, 1e+16, 1.5e-05]");
  EXPECT_EQ(to_string(Array::of<float>({2}, {8.5899346e9F, 0.000123F})), "[8589935000.0, 0.000123]");
  EXPECT_EQ(to_string(Array::of<double>({2}, {1.0 / 3, 2e-310})), "[0.3333333333333333, 2e-310]");
  EXPECT_EQ(to_string(Array::scalar(1.0 / 3)), "0.3333333333333333");
  EXPECT_EQ(to_string(Array::of<double>({1}, {0.999999999999})), "[0.999999999999]");
  EXPECT_EQ(to_string(Array::of<float>({5}, {NAN, INFINITY, -INFINITY, -0.0F, 0.0F})), "[nan, inf, -inf, -0.0, 0.0]");
  EXPECT_EQ(to_string(Array::scalar(-NAN)), "nan");
  EXPECT_EQ(to_string(Array::of<Half>({2}, {Half(0.1F), Half(65504.0F)})), "[0.1, 65500.0]");
  EXPECT_EQ(to_string(Array::of<BFloat16>({3}, {BFloat16(0.1F), BFloat16(3.14159F), BFloat16(INFINITY)})), "[0.1, 3.14, inf]");
}

TEST(ArrayText, OtherTypes) {
  EXPECT_EQ(to_string(Array::scalar(true)), "true");
  EXPECT_EQ(to_string(Array::of<bool>({2}, {true, false})), "[true, false]");
  EXPECT_EQ(to_string(Array::of<std::uint8_t>({2}, {0, 255})), "[0, 255]");
  EXPECT_EQ(to_string(Array::scalar(std::numeric_limits<std::int64_t>::min())), "-9223372036854775808");
}

TEST(ArrayText, Nesting) {
  EXPECT_EQ(to_string(iota({2, 3})), "[[0, 1, 2], [3, 4, 5]]");
  EXPECT_EQ(to_string(iota({2, 1, 2})), "[[[0, 1]], [[2, 3]]]");
  EXPECT_EQ(to_string(iota({0})), "[]");
  EXPECT_EQ(to_string(iota({3, 0})), "[]");
}

TEST(ArrayText, ShortensAboveAThousandElements) {
  EXPECT_EQ(to_string(iota({1000})).find("..."), std::string::npos);
  EXPECT_EQ(to_string(iota({1001})), "[0, 1, 2, ..., 998, 999, 1000]");
  EXPECT_EQ(to_string(iota({7, 143})).substr(0, 38), "[[0, 1, 2, ..., 140, 141, 142], [143, ");
  EXPECT_EQ(to_string(iota({6, 200})),
            "[[0, 1, 2, ..., 197, 198, 199], [200, 201, 202, ..., 397, 398, 399], [400, 401, 402, ..., 597, 598, 599], "
            "[600, 601, 602, ..., 797, 798, 799], [800, 801, 802, ..., 997, 998, 999], [1000, 1001, 1002, ..., 1197, 1198, 1199]]");
  EXPECT_EQ(to_string(iota({1001, 1})), "[[0], [1], [2], ..., [998], [999], [1000]]");
}

TEST(ArrayText, RankOfAMillionIsNoRecursion) {
  const std::string text = to_string(iota(Shape(1000000, 1)));
  EXPECT_EQ(text.size(), 2000001u);
  EXPECT_EQ(text[1000000], '0');
}

// --- DLPack, with the struct as its consumers declare it --------------------------------------------------------------------------------

struct Tensor {
  void* data;
  std::int32_t device_type, device_id, ndim;
  std::uint8_t code, bits;
  std::uint16_t lanes;
  std::int64_t *shape, *strides;
  std::uint64_t byte_offset;
  void* context;
  void (*deleter)(Tensor*);
};

struct Lent {
  std::vector<float> memory{0, 1, 2, 3, 4, 5, 6};
  std::vector<std::int64_t> shape{2, 3}, strides{3, 1};
  int deleted = 0;
  Tensor tensor{memory.data(),
                1,
                0,
                2,
                2,
                32,
                1,
                shape.data(),
                strides.data(),
                4,
                this,
                [](Tensor* t) { ++static_cast<Lent*>(t->context)->deleted; }};
};

TEST(DlPack, GoesOutAndComesBackWithoutACopy) {
  for (int i = 0; i < kDTypeCount; ++i) {
    const Array array(TensorType{static_cast<DType>(i), {2, 3}});
    void* tensor = array.to_dlpack();
    EXPECT_EQ(static_cast<Tensor*>(tensor)->data, array.bytes());
    Result<Array> back = Array::from_dlpack(tensor);
    ASSERT_TRUE(back);
    EXPECT_EQ(back->bytes(), array.bytes());
    EXPECT_EQ(*back, array);
  }
}

TEST(DlPack, AnExportedTensorOutlivesItsArray) {
  Tensor* tensor = nullptr;
  {
    const Array array = Array::of<float>({2}, {1, 2});
    tensor = static_cast<Tensor*>(array.to_dlpack());
  }
  EXPECT_EQ(static_cast<float*>(tensor->data)[1], 2.0F);
  EXPECT_EQ(tensor->ndim, 1);
  EXPECT_EQ(tensor->shape[0], 2);
  EXPECT_EQ(tensor->strides[0], 1);
  tensor->deleter(tensor);
}

TEST(DlPack, TakesATensorOverAndReleasesItOnce) {
  Lent lent;
  {
    Result<Array> array = Array::from_dlpack(&lent.tensor);
    ASSERT_TRUE(array);
    EXPECT_EQ(to_string(*array), "[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]");  // behind the byte offset
    const Array copy = *array;
    EXPECT_EQ(lent.deleted, 0);
  }
  EXPECT_EQ(lent.deleted, 1);
}

TEST(DlPack, RefusedTensorsStayWithTheCaller) {
  const auto refuse = [](auto&& change, const char* message) {
    Lent lent;
    change(lent);
    const Result<Array> array = Array::from_dlpack(&lent.tensor);
    ASSERT_FALSE(array) << message;
    EXPECT_NE(array.error().message.find(message), std::string::npos) << array.error().message;
    EXPECT_EQ(lent.deleted, 0);
  };
  refuse([](Lent& l) { l.tensor.device_type = 2; }, "not in host memory");
  refuse([](Lent& l) { l.strides = {1, 2}; }, "not contiguous");
  refuse([](Lent& l) { l.tensor.code = 5; }, "not supported");
  refuse([](Lent& l) { l.tensor.lanes = 4; }, "not supported");
  refuse([](Lent& l) { l.tensor.bits = 8; }, "not supported");
  refuse([](Lent& l) { l.shape = {-2, 3}; }, "impossible size");
  refuse([](Lent& l) { l.tensor.ndim = -1; }, "no shape");
  refuse([](Lent& l) { l.tensor.data = nullptr; }, "no data");
  refuse([](Lent& l) { l.tensor.byte_offset = 2; }, "not aligned");
  refuse([](Lent& l) { l.tensor.code = 6, l.tensor.bits = 8; }, "other than 0 and 1");
  EXPECT_FALSE(Array::from_dlpack(nullptr));
}

TEST(DlPack, StridesOfSingleElementsDoNotMatter) {
  Lent lent;
  lent.shape = {1, 3};
  lent.strides = {77, 1};
  EXPECT_TRUE(Array::from_dlpack(&lent.tensor));
  Lent compact;
  compact.tensor.strides = nullptr;
  EXPECT_TRUE(Array::from_dlpack(&compact.tensor));
}

// --- attributes ---------------------------------------------------------------------------------------------------------------------

TEST(Attributes, AreOrderedByNameAndCompareByBits) {
  Attributes a{{"b", std::int64_t{1}}, {"a", 0.0}};
  Attributes b;
  b.set("a", 1.0);
  b.set("b", std::int64_t{1});
  b.set("a", 0.0);
  EXPECT_TRUE(a == b);
  EXPECT_EQ(a.begin()->first, "a");
  b.set("a", -0.0);
  EXPECT_FALSE(a == b);
  a.set("a", std::nan(""));
  b.set("a", std::nan(""));
  EXPECT_TRUE(a == b);
  a.erase("a");
  EXPECT_EQ(a.find("a"), nullptr);
  EXPECT_EQ(a.get<std::int64_t>("b"), 1);
  EXPECT_EQ(a.get_or<double>("b", 2.5), 2.5);
  a.erase("absent");
}

TEST(Attributes, HostFunctionsCompareByDeclaration) {
  const auto f = std::make_shared<HostFunction>();
  const auto g = std::make_shared<HostFunction>();
  f->name = g->name = "f";
  g->call = [](std::span<const Array>, std::span<Array>, const CallLimits&) { return Status(); };
  using Function = std::shared_ptr<const HostFunction>;
  EXPECT_TRUE((Attributes{{"f", Function(f)}} == Attributes{{"f", Function(g)}}));
  g->pure = true;
  EXPECT_FALSE((Attributes{{"f", Function(f)}} == Attributes{{"f", Function(g)}}));
}

TEST(Array, CopiesOfTheWrongNumberOfValuesAreErrors) {
  const std::vector<float> five = {1, 2, 3, 4, 5}, six = {1, 2, 3, 4, 5, 6};
  const Result<Array> wrong = Array::copy_of<float>({2, 3}, five);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().kind, ErrorKind::user);
  EXPECT_EQ(wrong.error().message, "`f32[2, 3]` takes 6 values, not 5");
  const Result<Array> right = Array::copy_of<float>({2, 3}, six);
  ASSERT_TRUE(right);
  EXPECT_TRUE(*right == Array::of<float>({2, 3}, {1, 2, 3, 4, 5, 6}));
}

}  // namespace
}  // namespace cleave
