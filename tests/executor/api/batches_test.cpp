// Loops over batches: the order of rows, its passes from run to run and through files, the three remainders, training, and inputs that are
// larger than memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <numeric>
#include <set>

#include "graph/array/npy.h"
#include "graph/ops/elementary.h"
#include "graph/ops/gradient.h"
#include "graph/ops/ops.h"
#include "graph/ops/updates.h"
#include "graph/states.h"
#include "graph/text/text.h"
#include "graph/trace/batches.h"
#include "graph/trace/trace.h"
#include "tests/support/compiled.h"
#include "tests/support/temporary_folder.h"

namespace cleave::testing {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

using Order = std::vector<std::int32_t>;

Array counted(std::int64_t rows) {
  Array ids(TensorType{DType::i32, {rows}});
  std::iota(ids.mutable_data<std::int32_t>(), ids.mutable_data<std::int32_t>() + rows, 0);
  return ids;
}

/// Appends the rows of `x` to those seen in the pass.
std::tuple<Tensor, Tensor> append(const Tensor& seen, const Tensor& at, const Tensor& pass, const Tensor& x) {
  const std::int64_t rows = x.shape()[0];
  return {dynamic_update_slice(seen, reshape(x, {1, rows}), {pass, at}), at + rows};
}

/// Gives what is read in `passes` passes over `rows` numbered rows, one row for each pass.
Graph reader(std::int64_t rows, std::int64_t passes, BatchOptions options) {
  const std::int64_t whole = rows / options.size * options.size, rest = rows - whole;
  const std::int64_t all = options.remainder == Remainder::pad && rest > 0 ? whole + options.size
                           : options.remainder == Remainder::smaller       ? rows
                                                                           : whole;
  return trace("reader", {{"ids", {DType::i32, {rows}}}}, [&](Tensor ids) {
    return named("seen", for_loop(passes, zeros({passes, all}, {DType::i32}), [&](Tensor pass, Tensor seen) {
                   return std::get<0>(for_loop(batches({ids}, options), std::tuple(seen, Tensor(0)),
                                               [&](Tensor x, Tensor so_far, Tensor at) { return append(so_far, at, pass, x); }));
                 }));
  });
}

std::vector<Order> rows_of(const Array& array) {
  std::vector<Order> rows;
  const std::int64_t columns = array.shape()[1];
  for (std::int64_t i = 0; i < array.shape()[0]; ++i) {
    const std::int32_t* begin = array.data<std::int32_t>() + i * columns;
    rows.emplace_back(begin, begin + columns);
  }
  return rows;
}

std::vector<Order> seen(const Executable& program, std::int64_t rows) {
  const Result<RunResult> result = program.run({{"ids", counted(rows)}});
  EXPECT_TRUE(result) << result.error().message;
  return result ? rows_of(result->outputs[0].second) : std::vector<Order>();
}

Order sorted(Order order) {
  std::sort(order.begin(), order.end());
  return order;
}

Order numbers(std::int32_t count) {
  Order order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

TEST(Batches, ShuffleAllRowsInEachPassAndGoOnInTheNextRun) {
  const std::vector<Order> twelve = seen(compiled(reader(50, 12, {.size = 10, .shuffle = 7}), {.device = "none"}), 50);
  ASSERT_EQ(twelve.size(), 12U);
  for (const Order& pass : twelve) EXPECT_EQ(sorted(pass), numbers(50));
  EXPECT_EQ(std::set<Order>(twelve.begin(), twelve.end()).size(), 12U);
  const Executable six = compiled(reader(50, 6, {.size = 10, .shuffle = 7}), {.device = "none"});
  std::vector<Order> both = seen(six, 50);
  EXPECT_EQ(six.state("pass.1")->at(0), 6);
  for (Order& pass : seen(six, 50)) both.push_back(std::move(pass));
  EXPECT_EQ(both, twelve);
  ASSERT_TRUE(six.reset_states());
  EXPECT_EQ(seen(six, 50), std::vector<Order>(twelve.begin(), twelve.begin() + 6));
  EXPECT_NE(seen(compiled(reader(50, 6, {.size = 10, .shuffle = 8}), {.device = "none"}), 50), both);
}

TEST(Batches, HaveOneOrderOnEveryMachine) {
  const Graph graph = reader(47, 3, {.size = 8, .shuffle = 3, .remainder = Remainder::smaller});
  ASSERT_TRUE(graph.ok());
  const std::vector<Order> expected = seen(compiled(graph, {.device = "none"}), 47);
  for (const char* device : {"none", "simulated"})
    for (const Policy policy : {Policy::optimal, Policy::accelerator, Policy::host})
      for (const int threads : {1, 2}) {
        if (std::string(device) == "none" && policy != Policy::optimal) continue;
        CompileOptions options{.device = device, .placement = policy};
        options.executor.threads = threads;
        EXPECT_EQ(seen(compiled(graph, options), 47), expected) << device << " " << static_cast<int>(policy) << " " << threads;
      }
  const Result<Graph> again = parse_graph(print(graph), "reader.graph");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(seen(compiled(*again, {.device = "none"}), 47), expected);
}

TEST(Batches, DropPadOrShrinkTheLastOne) {
  for (const std::int64_t rows : {9, 11, 4, 7}) {
    for (const bool shuffled : {false, true}) {
      SCOPED_TRACE(std::to_string(rows) + (shuffled ? " shuffled" : ""));
      BatchOptions options{.size = 4};
      if (shuffled) options.shuffle = 11;
      options.remainder = Remainder::smaller;
      const Order all = seen(compiled(reader(rows, 1, options), {.device = "none"}), rows)[0];
      EXPECT_EQ(sorted(all), numbers(static_cast<std::int32_t>(rows)));
      if (!shuffled) {
        EXPECT_EQ(all, numbers(static_cast<std::int32_t>(rows)));
      }
      const auto whole = static_cast<std::size_t>(rows / 4 * 4);
      options.remainder = Remainder::drop;
      EXPECT_EQ(seen(compiled(reader(rows, 1, options), {.device = "none"}), rows)[0], Order(all.begin(), all.begin() + whole));
      options.remainder = Remainder::pad;
      Order padded = all;
      padded.resize((static_cast<std::size_t>(rows) + 3) / 4 * 4, 0);
      EXPECT_EQ(seen(compiled(reader(rows, 1, options), {.device = "none"}), rows)[0], padded);
    }
  }
}

TEST(Batches, CountRealRowsAndPadEveryType) {
  const Graph graph = trace("pad", {{"x", "f32[5, 2]"}, {"flags", "bool[5]"}}, [](Tensor x, Tensor flags) {
    return for_loop(batches({x, flags}, {.size = 3, .remainder = Remainder::pad}), std::tuple(Tensor(0.0), Tensor(0), Tensor(0)),
                    [](Tensor a, Tensor b, Tensor real, Tensor total, Tensor count, Tensor set) {
                      return std::tuple(total + sum(a), count * 10 + real, set + sum(astype(b, DType::i32)));
                    });
  });
  ASSERT_TRUE(graph.ok()) << graph.diagnostics.begin()->message;
  Array x(TensorType{DType::f32, {5, 2}}), flags(TensorType{DType::boolean, {5}});
  std::iota(x.mutable_data<float>(), x.mutable_data<float>() + 10, 1.0F);
  std::fill_n(flags.mutable_data<bool>(), 5, true);
  const auto result = compiled(graph, {.device = "none"}).run({{"x", x}, {"flags", flags}});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->outputs[0].second.at(0), 55);
  EXPECT_EQ(result->outputs[1].second.at(0), 32);
  EXPECT_EQ(result->outputs[2].second.at(0), 5);
}

TEST(Batches, CountPassesThroughLoopsAndBranches) {
  const Graph graph = trace("nested", {{"ids", "i32[6]"}}, [](Tensor ids) {
    const auto pass = [&](const Tensor& total) {
      return for_loop(batches({ids}, {.size = 3, .shuffle = 1}), total, [](Tensor x, Tensor so_far) { return so_far + sum(x); });
    };
    const Tensor first = for_loop(6, Tensor(0), [&](Tensor i, Tensor total) {
      return cond(
          i % 2 == 0, [&] { return pass(total); }, [&] { return total; });
    });
    const Tensor second = for_loop(5, first, [&](Tensor i, Tensor total) {
      return cond(
          i > 0, [&] { return total; }, [&] { return pass(pass(total)); });
    });
    const auto [trips, total] =
        while_loop([](Tensor i, Tensor) { return i < 4; }, std::tuple(Tensor(0), second),
                   [&](Tensor i, Tensor sum_so_far) {
                     return std::tuple(i + 1, for_loop(i, sum_so_far, [&](Tensor, Tensor inner) { return pass(inner); }, {.expect = 2}));
                   });
    return std::tuple(named("trips", trips), named("total", total));
  });
  ASSERT_TRUE(graph.ok()) << graph.diagnostics.begin()->message;
  for (const char* device : {"none", "simulated"}) {
    const Executable program = compiled(graph, {.device = device});
    for (const int run : {1, 2}) {
      const auto result = program.run({{"ids", counted(6)}});
      ASSERT_TRUE(result) << result.error().message;
      EXPECT_EQ(result->outputs[1].second.at(0), 15 * (3 + 2 + 6));
      const int entries[] = {3, 1, 1, 6};
      for (int i = 0; i < 4; ++i) EXPECT_EQ(program.state("pass." + std::to_string(i + 1))->at(0), run * entries[i]) << i;
    }
  }
}

TEST(Batches, ResumeFromAFileWithTheirPass) {
  const Graph graph = reader(30, 1, {.size = 10, .shuffle = 5});
  for (const char* device : {"none", "simulated"}) {
    const test::TemporaryFolder folder;
    const Executable whole = compiled(graph, {.device = device}), first = compiled(graph, {.device = device}),
                     second = compiled(graph, {.device = device});
    std::vector<Order> expected, got;
    for (int i = 0; i < 5; ++i) expected.push_back(seen(whole, 30)[0]);
    for (int i = 0; i < 2; ++i) got.push_back(seen(first, 30)[0]);
    ASSERT_TRUE(first.save_states(folder.path("after2")));
    ASSERT_TRUE(second.load_states(folder.path("after2")));
    for (int i = 0; i < 3; ++i) got.push_back(seen(second, 30)[0]);
    EXPECT_EQ(got, expected);
  }
}

/// Linear regression by stochastic descent in shuffled batches, against the same in plain C++ with the order that the reader gives.
TEST(Batches, TrainByGradientsOfTheirBodies) {
  constexpr std::int64_t kRows = 22, kPasses = 4, kSize = 5;
  const BatchOptions options{.size = kSize, .shuffle = 2, .remainder = Remainder::smaller};
  const Graph graph = trace("train", {{"x", {DType::u8, {kRows, 3}}}, {"y", {DType::f32, {kRows}}}}, [&](Tensor x, Tensor y) {
    const Tensor begin = parameter("w", "f32[3]", 0);
    return named("w", for_loop(kPasses, begin, [&](Tensor, Tensor w) {
                   return for_loop(batches({x, y}, options), w, [](Tensor a, Tensor b, Tensor v) {
                     const Tensor loss = mean(square(matmul(astype(a, DType::f32) / 16, v) - b));
                     return v - 0.1 * gradient(loss, v);
                   });
                 }));
  });
  ASSERT_TRUE(graph.ok()) << graph.diagnostics.begin()->message;
  Array x(TensorType{DType::u8, {kRows, 3}}), y(TensorType{DType::f32, {kRows}});
  for (std::int64_t i = 0; i < x.size(); ++i) x.mutable_data<std::uint8_t>()[i] = static_cast<std::uint8_t>(i * 7 % 16);
  for (std::int64_t i = 0; i < kRows; ++i) y.mutable_data<float>()[i] = static_cast<float>(i % 5) - 2;

  double w[3] = {0, 0, 0};
  for (const Order& pass : seen(compiled(reader(kRows, kPasses, options), {.device = "none"}), kRows)) {
    for (std::size_t begin = 0; begin < pass.size(); begin += kSize) {
      const std::size_t end = std::min(begin + kSize, pass.size());
      double slope[3] = {0, 0, 0};
      for (std::size_t i = begin; i < end; ++i) {
        const std::uint8_t* row = x.data<std::uint8_t>() + pass[i] * 3;
        const double error = (row[0] * w[0] + row[1] * w[1] + row[2] * w[2]) / 16 - y.data<float>()[pass[i]];
        for (int k = 0; k < 3; ++k) slope[k] += 2 * error * row[k] / 16 / static_cast<double>(end - begin);
      }
      for (int k = 0; k < 3; ++k) w[k] -= 0.1 * slope[k];
    }
  }
  for (const char* device : {"none", "simulated"}) {
    const auto result = compiled(graph, {.device = device}).run({{"x", x}, {"y", y}});
    ASSERT_TRUE(result) << result.error().message;
    for (int k = 0; k < 3; ++k) EXPECT_NEAR(result->outputs[0].second.at(k), w[k], 1e-5) << device;
  }
}

/// The peak of the process's resident memory since `reset_peak`, in bytes.
std::int64_t peak() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:")) return std::stoll(line.substr(6)) * 1024;
  return 0;
}
void reset_peak() {
  std::ofstream("/proc/self/clear_refs") << "5";
}

TEST(Batches, ReadAFileThatIsLargerThanTheirMemory) {
  constexpr std::int64_t kRows = 1 << 21, kColumns = 4096, kBytes = kRows * kColumns, kRead = 112 << 20;
  const test::TemporaryFolder folder;
  std::string header = "{'descr': '|u1', 'fortran_order': False, 'shape': (2097152, 4096), }";
  header.resize(117, ' ');
  header += '\n';
  const std::string file = folder.write("large.npy", std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header);
  std::error_code failed;
  std::filesystem::resize_file(file, static_cast<std::uintmax_t>(128 + kBytes), failed);
  if (failed) GTEST_SKIP() << "no sparse file of 8 GiB here: " << failed.message();
  std::fstream(file, std::ios::in | std::ios::out | std::ios::binary).seekp(128 + 100 * kColumns).put('\x07');

  for (const bool shuffled : {false, true}) {
    BatchOptions options{.size = 64};
    if (shuffled) options.shuffle = 1;
    const Graph graph = trace("large", {{"x", {DType::u8, {kRows, kColumns}}, file}}, [&](Tensor x) {
      return for_loop(batches({x}, options), std::tuple(Tensor(0), Tensor(0)), [](Tensor rows, Tensor at, Tensor total) {
        return until(at + 1 >= kRead / (64 * kColumns), std::tuple(at + 1, total + sum(astype(rows, DType::i32))));
      });
    });
    ASSERT_TRUE(graph.ok()) << graph.diagnostics.begin()->message;
    const Executable program = compiled(graph, {.device = shuffled ? "simulated" : "none"});
    reset_peak();
    const std::int64_t before = peak();
    const auto result = program.run();
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_EQ(result->outputs[0].second.at(0), kRead / (64 * kColumns));
    if (!shuffled) {
      EXPECT_EQ(result->outputs[1].second.at(0), 7);
    }
    EXPECT_LT(peak() - before, 96 << 20) << shuffled;
  }
}

std::string only_error(const Graph& graph) {
  EXPECT_EQ(graph.diagnostics.size(), 1U);
  return graph.diagnostics.empty() ? "" : graph.diagnostics.begin()->message;
}

TEST(Batches, AreRefusedWhereTheyAreMade) {
  const auto refused = [](BatchOptions options, const TypeSpec& x, const TypeSpec& y) {
    return only_error(trace("refused", {{"x", x}, {"y", y}}, [&](Tensor a, Tensor b) {
      return for_loop(batches({a, b}, options), Tensor(0.0), [](Tensor p, Tensor q, Tensor s) { return s + sum(p) + sum(q); });
    }));
  };
  EXPECT_EQ(refused({.size = 2}, "f32[6]", "f32[5]"), "`y` of `batches` has 5 rows, but the first one has 6");
  EXPECT_EQ(refused({.size = 2}, "f32[6]", "f32[]"), "`y` of `batches` is f32[], which has no rows");
  EXPECT_EQ(refused({.size = 2}, "f32[0, 3]", "f32[0]"), "`x` of `batches` is f32[0, 3], which has no rows");
  EXPECT_EQ(refused({.size = 2}, "u8[2147483648]", "u8[2147483648]"), "`x` of `batches` has more than 2147483647 rows");
  EXPECT_EQ(refused({}, "f32[6]", "f32[6]"), "a batch has from 1 to all 6 rows, so `size` cannot be 0");
  EXPECT_EQ(refused({.size = 7}, "f32[6]", "f32[6]"), "a batch has from 1 to all 6 rows, so `size` cannot be 7");
  const auto with = [](Remainder remainder, const auto& body) {
    return only_error(trace("refused", {{"x", "f32[5]"}},
                            [&](Tensor x) { return for_loop(batches({x}, {.size = 2, .remainder = remainder}), Tensor(0.0), body); }));
  };
  EXPECT_EQ(with(Remainder::drop, [](Tensor p, Tensor n, Tensor s) { return s + sum(p) * n; }),
            "only with `Remainder::pad` the body takes the number of real rows: after a value for each of 1 array comes the state");
  EXPECT_EQ(with(Remainder::smaller, [](Tensor p, Tensor s) { return until(s > 1, s + sum(p)); }),
            "`until` does not go with `Remainder::smaller`, whose last batch is behind the loop");
}

}  // namespace
}  // namespace cleave::testing
