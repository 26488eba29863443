// Tracer: literals and promotion, control flow, frequencies, and every mistake it reports.
#include "graph/trace/tracer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "graph/passes/verify.h"
#include "graph/text/text.h"

namespace cleave {
namespace {

using ::testing::HasSubstr;

Operand number(std::int64_t value) {
  return Literal{Literal::Type::integer, value, 0};
}
Operand real(double value) {
  return Literal{Literal::Type::floating, 0, value};
}
Operand truth(bool value) {
  return Literal{Literal::Type::boolean, value, 0};
}

class TracerTest : public ::testing::Test {
 protected:
  SourceLocation at(int line) { return {file_, line, 5, nullptr}; }
  Operand input(std::string name, TensorType type) { return t.input(std::move(name), std::move(type), {}, at(1)); }
  Operand op(std::string_view name, std::vector<Operand> inputs, Attributes attributes = {}, int line = 10) {
    return t.call(*find_op(name), inputs, std::move(attributes), at(line));
  }
  std::string type(const Operand& operand) { return t.type(operand) ? to_string(*t.type(operand)) : "poison"; }
  Tracer::State state(std::string name, Operand operand, int line = 20) { return {std::move(name), std::move(operand), at(line)}; }

  /// Checks the only diagnostic so far.
  void expect_error(DiagnosticKind kind, std::string_view message, int line) {
    const Diagnostics& all = t.graph().diagnostics;
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all.begin()->kind, kind) << all.begin()->message;
    EXPECT_THAT(all.begin()->message, HasSubstr(std::string(message)));
    EXPECT_EQ(all.begin()->location.line, line);
  }
  std::string text() { return print(t.finish(), {.locations = false}); }

  std::shared_ptr<const std::string> file_ = std::make_shared<const std::string>("train.cpp");
  Tracer t{"test"};
};

// --- literals and promotion -------------------------------------------------------------------------------------------------------------

TEST_F(TracerTest, LiteralsAdaptToValues) {
  struct Row {
    DType dtype;
    Operand literal;
    std::string_view result;
  };
  const std::vector<Row> rows = {{DType::f32, number(2), "f32[3]"},  {DType::f32, real(2), "f32[3]"},   {DType::f64, real(2), "f64[3]"},
                                 {DType::f64, number(2), "f64[3]"},  {DType::f16, real(2), "f16[3]"},   {DType::bf16, number(2), "bf16[3]"},
                                 {DType::i64, number(2), "i64[3]"},  {DType::i32, number(2), "i32[3]"}, {DType::u8, number(2), "u8[3]"},
                                 {DType::i32, real(0.5), "f32[3]"},  {DType::i64, real(1), "f32[3]"},   {DType::u8, real(1), "f32[3]"},
                                 {DType::i32, truth(true), "i32[3]"}};
  for (const Row& row : rows) {
    const Operand x = input(std::string("x") + std::to_string(&row - rows.data()), {row.dtype, {3}});
    EXPECT_EQ(type(op("add", {x, row.literal})), row.result);
    EXPECT_EQ(type(op("add", {row.literal, x})), row.result);
  }
  EXPECT_FALSE(t.has_errors());
}

TEST_F(TracerTest, ValuesPromoteToTheCommonType) {
  const Operand i = input("i", {DType::i32, {3}}), f = input("f", {DType::f32, {3}}), l = input("l", {DType::i64, {}});
  EXPECT_EQ(type(op("add", {i, f})), "f32[3]");
  EXPECT_EQ(type(op("multiply", {i, l})), "i64[3]");
  EXPECT_EQ(type(op("divide", {i, l})), "f32[3]");
  EXPECT_EQ(type(op("exp", {i})), "f32[3]");
  EXPECT_EQ(type(op("less", {i, f})), "bool[3]");
  EXPECT_EQ(type(op("where", {truth(true), i, real(0.5)})), "f32[3]");
  EXPECT_FALSE(t.has_errors());
}

TEST_F(TracerTest, IntegersWithoutACommonTypeAreAnError) {
  const Operand large = input("u", {DType::u64, {3}}), i = input("i", {DType::i32, {3}}), b = input("b", {DType::boolean, {3}});
  EXPECT_EQ(type(op("add", {large, input("small", {DType::u8, {}})})), "u64[3]");
  EXPECT_EQ(type(op("add", {large, number(7)})), "u64[3]");
  EXPECT_EQ(type(op("where", {b, large, large})), "u64[3]");
  EXPECT_FALSE(t.has_errors());
  EXPECT_TRUE(op("add", {large, i}, {}, 14).poisoned());
  expect_error(DiagnosticKind::type, "`add` of u64 and i32: no integer type holds both; convert one of them with `astype`", 14);
}

TEST_F(TracerTest, CastsOnlyWhatNeedsIt) {
  const Operand i = input("i", {DType::i32, {}}), f = input("f", {DType::f32, {}});
  t.output("sum", op("add", {f, op("add", {i, f})}), at(2));
  EXPECT_EQ(text(),
            "cleave-graph 1\nname \"test\"\n%i.0 = input : i32[]\n%f.1 = input : f32[]\n%2 = astype(%i.0) {dtype=f32} : f32[]\n"
            "%3 = add(%2, %f.1) : f32[]\n%4 = add(%f.1, %3) : f32[]\noutput \"sum\" %4\n");
}

TEST_F(TracerTest, LiteralsFoldAmongThemselves) {
  const Operand third = op("divide", {number(1), number(4)});
  ASSERT_TRUE(third.literal.has_value());
  EXPECT_EQ(third.literal->type, Literal::Type::floating);
  EXPECT_EQ(third.literal->floating, 0.25);
  const Operand negative = op("negative", {number(3)});
  ASSERT_TRUE(negative.literal.has_value());
  EXPECT_EQ(negative.literal->integer, -3);
  const Operand wide = op("multiply", {number(3000000000), number(2)});
  ASSERT_TRUE(wide.literal.has_value());
  EXPECT_EQ(wide.literal->integer, 6000000000);
  const Operand compared = op("less", {number(1), real(1.5)});
  ASSERT_TRUE(compared.literal.has_value());
  EXPECT_EQ(compared.literal->type, Literal::Type::boolean);
  EXPECT_EQ(compared.literal->integer, 1);
  EXPECT_EQ(t.graph().nodes.size(), 0U);
}

TEST_F(TracerTest, ConvertedLiteralsAreStrongAndKeepTheirDigits) {
  const Operand tenth = op("astype", {real(0.1)}, {{"dtype", DType::f64}});
  ASSERT_TRUE(tenth.value.valid());
  EXPECT_EQ(t.graph().producer(tenth.value).attributes.get<Array>("value").at(0), 0.1);
  EXPECT_EQ(type(op("add", {tenth, input("x", {DType::f32, {}})})), "f64[]");
  EXPECT_EQ(type(op("astype", {number(5000000000)}, {{"dtype", DType::i64}})), "i64[]");
  EXPECT_EQ(type(op("astype", {real(1.5)}, {{"dtype", DType::i32}})), "i32[]");
  EXPECT_FALSE(t.has_errors());
}

TEST_F(TracerTest, LiteralsThatDoNotFit) {
  const Operand x = input("x", {DType::u8, {}});
  EXPECT_TRUE(op("add", {x, number(300)}).poisoned());
  expect_error(DiagnosticKind::value, "`300` does not fit in u8", 10);
}

TEST_F(TracerTest, LiteralsThatWouldBecomeInfinite) {
  const Operand x = input("x", {DType::f32, {}}), half = input("half", {DType::f16, {}}), wide = input("wide", {DType::f64, {}});
  constexpr double inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(type(op("add", {wide, real(1e39)})), "f64[]");
  EXPECT_EQ(type(op("add", {x, real(3.4e38)})), "f32[]");
  EXPECT_EQ(type(op("add", {x, real(inf)})), "f32[]") << "what is meant";
  EXPECT_EQ(type(op("add", {x, real(std::nan(""))})), "f32[]");
  EXPECT_EQ(type(op("add", {half, number(65504)})), "f16[]");
  EXPECT_FALSE(t.has_errors());
  EXPECT_TRUE(op("add", {x, real(1e39)}, {}, 12).poisoned());
  expect_error(DiagnosticKind::value, "`1e+39` does not fit in f32; f32 holds -3.4028235e+38 to 3.4028235e+38", 12);
}

TEST_F(TracerTest, IntegersThatWouldBecomeInfinite) {
  EXPECT_TRUE(op("multiply", {input("half", {DType::f16, {}}), number(70000)}, {}, 13).poisoned());
  expect_error(DiagnosticKind::value, "`70000` does not fit in f16; f16 holds -65504 to 65504", 13);
}

TEST_F(TracerTest, BareLiteralsThatWouldBecomeInfinite) {
  EXPECT_EQ(type(op("astype", {real(1e39)}, {{"dtype", DType::f64}})), "f64[]");
  EXPECT_FALSE(t.has_errors());
  EXPECT_TRUE(t.materialize(real(-1e39), at(14)).poisoned());
  expect_error(DiagnosticKind::value, "holds -3.4028235e+38 to 3.4028235e+38; write `astype(-1e+39, f64)`", 14);
}

TEST_F(TracerTest, BareLiteralsAreNarrow) {
  EXPECT_EQ(type(t.materialize(number(1), at(1))), "i32[]");
  EXPECT_EQ(type(t.materialize(real(1), at(1))), "f32[]");
  EXPECT_EQ(type(t.materialize(truth(true), at(1))), "bool[]");
  EXPECT_EQ(type(t.materialize(number(1), at(1), DType::f64)), "f64[]");
  EXPECT_FALSE(t.has_errors());
  EXPECT_TRUE(t.materialize(number(1LL << 40), at(7)).poisoned());
  expect_error(DiagnosticKind::value, "does not fit in i32; write `astype(1099511627776, i64)`", 7);
}

// --- mistakes in calls ------------------------------------------------------------------------------------------------------------------

TEST_F(TracerTest, ReportsAMistakeOnce) {
  const Operand a = input("a", {DType::f32, {2, 3}}), b = input("b", {DType::f32, {2, 3}});
  const Operand bad = op("matmul", {a, b}, {}, 12);
  EXPECT_TRUE(bad.poisoned());
  EXPECT_TRUE(op("add", {bad, a}, {}, 13).poisoned());
  expect_error(DiagnosticKind::shape, "f32[2, 3]", 12);
}

TEST_F(TracerTest, ChecksOperandsAndAttributes) {
  const Operand x = input("x", {DType::f32, {2}});
  EXPECT_TRUE(op("add", {x}, {}, 2).poisoned());
  EXPECT_TRUE(op("sum", {x}, {{"axes", std::int64_t{0}}}, 3).poisoned());
  EXPECT_TRUE(op("sum", {x}, {{"keepdims", std::string("yes")}}, 4).poisoned());
  EXPECT_TRUE(op("reshape", {x}, {}, 5).poisoned());
  EXPECT_TRUE(op("broadcast_to", {x}, {{"shape", Shape{1LL << 60, 2}}}, 6).poisoned());
  const Diagnostics& all = t.graph().diagnostics;
  ASSERT_EQ(all.size(), 5U);
  auto diagnostic = all.begin();
  EXPECT_THAT((diagnostic++)->message, HasSubstr("`add` takes 2 operands, not 1"));
  EXPECT_EQ(diagnostic->kind, DiagnosticKind::unknown);
  EXPECT_THAT((diagnostic++)->message, HasSubstr("did you mean `axis`?"));
  EXPECT_EQ((diagnostic++)->kind, DiagnosticKind::type);
  EXPECT_THAT((diagnostic++)->message, HasSubstr("`shape`"));
  EXPECT_EQ(diagnostic->location.line, 6);
}

TEST_F(TracerTest, EqualCallsHaveEqualAttributes) {
  const Operand x = input("x", {DType::f32, {2}});
  const Operand a = op("sum", {x}, {{"axis", std::int64_t{0}}});
  const Operand b = op("sum", {x}, {{"axis", std::vector<std::int64_t>{0}}, {"keepdims", false}});
  EXPECT_TRUE(t.graph().producer(a.value).attributes == t.graph().producer(b.value).attributes);
}

TEST_F(TracerTest, DeclarationsAreUniqueAndOutside) {
  input("x", {DType::f32, {}});
  EXPECT_TRUE(input("x", {DType::f32, {}}).poisoned());
  expect_error(DiagnosticKind::value, "`x` is declared twice", 1);
  t.begin_for(number(2), {}, at(3));
  EXPECT_TRUE(input("y", {DType::f32, {}}).poisoned());
  t.end_for({});
  EXPECT_EQ(t.graph().diagnostics.size(), 2U);
}

TEST_F(TracerTest, ValuesStayInTheirLoop) {
  const Operand x = input("x", {DType::f32, {}});
  t.begin_for(number(2), {}, at(3));
  const Operand inside = op("exp", {x}, {}, 4);
  t.name(inside, "inside");
  t.end_for({});
  EXPECT_TRUE(op("add", {x, inside}, {}, 6).poisoned());
  expect_error(DiagnosticKind::unknown, "`inside` was made inside a loop", 6);
  EXPECT_EQ(t.graph().diagnostics.begin()->notes.at(0).location.line, 4);
}

// --- loops -----------------------------------------------------------------------------------------------------------

TEST_F(TracerTest, ForLoop) {
  const Operand w = input("w", {DType::f32, {2}});
  const std::vector<Tracer::State> initial{state("w", w), state("n", number(0))};
  const Tracer::Loop loop = t.begin_for(number(5), initial, at(3), std::nullopt, "i");
  EXPECT_EQ(type(loop.counter), "i32[]");
  const std::vector<Tracer::State> yielded{state("w", op("add", {loop.inside[0], loop.counter})), state("n", number(7))};
  const std::vector<Operand> after = t.end_for(yielded, op("greater", {loop.inside[1], number(3)}));
  t.output("w", after[0], at(9));
  EXPECT_EQ(text(),
            "cleave-graph 1\nname \"test\"\n%w.0 = input : f32[2]\n%1 = constant {value=i32[] (0)} : i32[]\n"
            "for {count=5} expected 5.0 {\n"
            "  %i.2 = counter : i32[]\n"
            "  %w.3, %w.4 = carried(%w.0, %8) : f32[2]\n"
            "  %n.5, %n.6 = carried(%1, %11) : i32[]\n"
            "  %7 = astype(%i.2) {dtype=f32} : f32[]\n"
            "  %8 = add(%w.3, %7) : f32[2]\n"
            "  %9 = constant {value=i32[] (3)} : i32[]\n"
            "  %10 = greater(%n.5, %9) : bool[]\n"
            "  %11 = constant {value=i32[] (7)} : i32[]\n"
            "  until %10\n"
            "}\n"
            "output \"w\" %w.4\n");
}

TEST_F(TracerTest, TripsAreKnownDeclaredOrAssumed) {
  const Operand n = input("n", {DType::i64, {}});
  t.begin_for(n, {}, at(3));
  t.end_for({});
  t.begin_for(n, {}, at(3), 40.0);
  t.end_for({});
  const Node& assumed = t.graph().nodes[NodeId(std::size_t{1})];
  EXPECT_EQ(assumed.expected, 10);
  EXPECT_TRUE(assumed.assumed);
  EXPECT_EQ(assumed.inputs, std::vector<ValueId>{n.value});
  const Node& declared = t.graph().nodes[NodeId(std::size_t{3})];
  EXPECT_EQ(declared.expected, 40);
  EXPECT_FALSE(declared.assumed);
}

TEST_F(TracerTest, CountsAreChecked) {
  const std::vector<std::pair<Operand, DiagnosticKind>> rows = {{number(-1), DiagnosticKind::value},
                                                                {number(3000000000), DiagnosticKind::value},
                                                                {real(2), DiagnosticKind::type},
                                                                {truth(true), DiagnosticKind::type},
                                                                {input("f", {DType::f32, {}}), DiagnosticKind::type},
                                                                {input("v", {DType::i32, {2}}), DiagnosticKind::type},
                                                                {op("negative", {number(4)}), DiagnosticKind::value}};
  std::size_t reported = 0;
  for (const auto& [count, kind] : rows) {
    t.begin_for(count, {}, at(30));
    t.end_for({});
    ASSERT_EQ(t.graph().diagnostics.size(), ++reported);
    EXPECT_EQ((t.graph().diagnostics.end() - 1)->kind, kind);
    EXPECT_EQ((t.graph().diagnostics.end() - 1)->location.line, 30);
  }
}

TEST_F(TracerTest, CarriedValuesKeepTheirType) {
  const Operand w = input("w", {DType::f32, {2}});
  const std::vector<Tracer::State> initial{state("w", w, 20), state("n", number(1), 21), state("f", real(1), 22)};
  const Tracer::Loop loop = t.begin_for(number(3), initial, at(3));
  const Operand sum = op("sum", {loop.inside[0]});
  const std::vector<Tracer::State> yielded{state("w", sum, 25), state("n", real(0.5), 26), state("f", number(1), 27)};
  const std::vector<Operand> after = t.end_for(yielded);
  EXPECT_TRUE(after[0].poisoned());
  EXPECT_TRUE(after[1].poisoned());
  EXPECT_EQ(type(after[2]), "f32[]");  // the literal adapts
  const Diagnostics& all = t.graph().diagnostics;
  ASSERT_EQ(all.size(), 2U);
  const Diagnostic& first = *all.begin();
  EXPECT_EQ(first.kind, DiagnosticKind::carried);
  EXPECT_THAT(first.message, HasSubstr("`w` is carried through the loop as f32[2] but becomes f32[] here"));
  EXPECT_EQ(first.location.line, 25);
  ASSERT_EQ(first.notes.size(), 1U);
  EXPECT_EQ(first.notes[0].location.line, 20);
  EXPECT_EQ((all.begin() + 1)->kind, DiagnosticKind::carried);
}

TEST_F(TracerTest, WhileLoop) {
  const std::vector<Tracer::State> initial{state("k", number(0))};
  const Tracer::Loop loop = t.begin_while(initial, at(3), 7.0);
  t.while_condition(op("less", {loop.inside[0], number(7)}), at(3));
  const std::vector<Tracer::State> yielded{state("k", op("add", {loop.inside[0], number(1)}))};
  t.output("k", t.end_while(yielded)[0], at(5));
  EXPECT_EQ(text(),
            "cleave-graph 1\nname \"test\"\n%0 = constant {value=i32[] (0)} : i32[]\nwhile expected 7.0 {\n"
            "  %k.1, %k.2 = carried(%0, %6) : i32[]\n  %3 = constant {value=i32[] (7)} : i32[]\n"
            "  %4 = less(%k.1, %3) : bool[]\n  test %4\n} do {\n  %5 = constant {value=i32[] (1)} : i32[]\n"
            "  %6 = add(%k.1, %5) : i32[]\n}\noutput \"k\" %k.2\n");
}

class EndlessTest : public TracerTest {
 protected:
  /// A while loop over a loop-carried i32 with the given condition and next value.
  template <class C, class N>
  void loop(const C& condition, const N& next) {
    const std::vector<Tracer::State> initial{state("k", number(0))};
    const Tracer::Loop opened = t.begin_while(initial, at(33));
    t.while_condition(condition(opened.inside[0]), at(34));
    const std::vector<Tracer::State> yielded{state("k", next(opened.inside[0]))};
    t.end_while(yielded);
  }
  Operand advance(const Operand& k) { return op("add", {k, number(1)}); }
  Operand call_host(bool pure) {
    auto function = std::make_shared<HostFunction>();
    function->name = "key_pressed";
    function->returns = {TensorType{DType::boolean, {}}};
    function->pure = pure;
    return op("host_call", {}, {{"function", std::shared_ptr<const HostFunction>(std::move(function))}});
  }
};

TEST_F(EndlessTest, ConstantCondition) {
  loop([](const Operand&) { return truth(true); }, [&](const Operand& k) { return advance(k); });
  expect_error(DiagnosticKind::endless_loop, "always true", 33);
}
TEST_F(EndlessTest, FoldedCondition) {
  loop([&](const Operand&) { return op("less", {number(1), number(2)}); }, [&](const Operand& k) { return advance(k); });
  expect_error(DiagnosticKind::endless_loop, "always true", 33);
}
TEST_F(EndlessTest, CarriedValueThatStaysTheSame) {
  loop([&](const Operand& k) { return op("less", {k, number(2)}); }, [&](const Operand& k) { return k; });
  expect_error(DiagnosticKind::endless_loop, "nothing in the loop changes it", 33);
}
TEST_F(EndlessTest, CarriedValueThatIsComputedToBeTheSame) {
  loop(
      [&](const Operand& k) {
        return op("less", {k, number(2)});
      },
      [&](const Operand& k) { return op("negative", {op("negative", {k})}); });
  expect_error(DiagnosticKind::endless_loop, "nothing in the loop changes it", 33);
}
TEST_F(EndlessTest, CarriedValueThatComesToRest) {
  loop(
      [&](const Operand& k) {
        return op("less", {k, number(20)});
      },
      [&](const Operand& k) {
        return op("minimum", {advance(k), number(10)});
      });
  expect_error(DiagnosticKind::endless_loop, "nothing in the loop changes it", 33);
}
TEST_F(EndlessTest, PrintDoesNotEndIt) {
  loop([](const Operand&) { return truth(true); },
       [&](const Operand& k) {
         op("print", {k}, {{"label", std::string("k")}});
         return advance(k);
       });
  expect_error(DiagnosticKind::endless_loop, "always true", 33);
}
TEST_F(EndlessTest, LoopsThatMayEnd) {
  loop([&](const Operand& k) { return op("less", {k, number(2)}); }, [&](const Operand& k) { return advance(k); });
  loop([&](const Operand&) { return call_host(false); }, [&](const Operand& k) { return advance(k); });
  // A condition that is false before the first iteration.
  loop([&](const Operand& k) { return op("less", {k, number(-1)}); }, [&](const Operand& k) { return k; });
}
TEST_F(EndlessTest, LoopsThatMayNotBegin) {
  const Operand n = input("n", {DType::i32, {}});
  loop([&](const Operand&) { return op("less", {n, number(2)}); }, [&](const Operand& k) { return advance(k); });
  loop([&](const Operand&) { return call_host(true); }, [&](const Operand& k) { return advance(k); });
  loop([](const Operand&) { return truth(false); }, [&](const Operand& k) { return advance(k); });
  loop([](const Operand&) { return truth(true); },
       [&](const Operand& k) {
         call_host(false);
         return advance(k);
       });
  loop(
      [&](const Operand& k) {  // through a loop nested in the condition
        const std::vector<Tracer::State> inner{state("s", number(0))};
        const Tracer::Loop nested = t.begin_for(number(2), inner, at(1));
        const std::vector<Tracer::State> yielded{state("s", op("add", {nested.inside[0], k}))};
        return op("less", {t.end_for(yielded)[0], number(9)});
      },
      [&](const Operand& k) { return advance(k); });
  EXPECT_FALSE(t.has_errors());
  EXPECT_EQ(verify(t.finish()), std::vector<std::string>{});
}

TEST_F(TracerTest, PredicatesAreScalarBools) {
  const Operand x = input("x", {DType::f32, {4}});
  t.begin_branch(op("less", {x, number(0)}), at(41));
  t.end_branch({}, {});
  t.begin_branch(number(1), at(42));
  t.end_branch({}, {});
  t.begin_while({}, at(43));
  t.while_condition(x, at(44));
  t.end_while({});
  t.begin_for(number(1), {}, at(45));
  t.end_for({}, op("exp", {x}, {}, 46));
  std::vector<int> reported;
  for (const Diagnostic& diagnostic : t.graph().diagnostics) {
    EXPECT_EQ(diagnostic.kind, DiagnosticKind::predicate) << diagnostic.message;
    reported.push_back(diagnostic.location.line);
  }
  EXPECT_EQ(reported, (std::vector<int>{41, 42, 44, 46}));
}

// --- branches --------------------------------------------------------------------------------------------------------

TEST_F(TracerTest, BranchesMergeAndNumberInProgramOrder) {
  const Operand c = input("c", {DType::boolean, {}}), x = input("x", {DType::f32, {}});
  t.begin_branch(c, at(3), 0.25);
  const Operand y = op("exp", {x});
  t.begin_otherwise();
  const std::vector<Tracer::State> then_values{state("y", y), state("z", number(1))}, else_values{state("y", number(0)), state("z", x)};
  const std::vector<Operand> merged = t.end_branch(then_values, else_values);
  t.output("y", merged[0], at(5));
  t.output("z", merged[1], at(5));
  EXPECT_EQ(text(),
            "cleave-graph 1\nname \"test\"\n%c.0 = input : bool[]\n%x.1 = input : f32[]\nif(%c.0) expected 0.25 {\n"
            "  %2 = exp(%x.1) : f32[]\n  %3 = constant {value=f32[] (1.0)} : f32[]\n} else {\n"
            "  %4 = constant {value=f32[] (0.0)} : f32[]\n}\n%y.5 = merge(%2, %4) : f32[]\n%z.6 = merge(%3, %x.1) : f32[]\n"
            "output \"y\" %y.5\noutput \"z\" %z.6\n");
}

TEST_F(TracerTest, ArmsMustAgree) {
  const Operand c = input("c", {DType::boolean, {}}), x = input("x", {DType::f32, {2}}), i = input("i", {DType::i32, {2}});
  t.begin_branch(c, at(3));
  const std::vector<Tracer::State> then_values{state("a", x, 50), state("b", x, 51)},
      else_values{state("a", i, 52), state("b", real(0), 53)};
  const std::vector<Operand> merged = t.end_branch(then_values, else_values);
  EXPECT_TRUE(merged[0].poisoned());
  EXPECT_TRUE(merged[1].poisoned());
  const Diagnostics& all = t.graph().diagnostics;
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all.begin()->kind, DiagnosticKind::type);
  EXPECT_THAT(all.begin()->message, HasSubstr("`a` is i32[2] in this arm of the branch and f32[2] in the other"));
  EXPECT_EQ(all.begin()->location.line, 52);
  EXPECT_EQ((all.begin() + 1)->kind, DiagnosticKind::shape);
}

TEST_F(TracerTest, ProbabilityOfEveryKthTrip) {
  const Operand c = input("c", {DType::boolean, {}});
  std::vector<std::pair<double, bool>> seen;
  auto branch = [&](const Operand& predicate, std::optional<double> probability = std::nullopt) {
    const NodeId id(t.graph().nodes.size());
    t.begin_branch(predicate, at(3), probability);
    NodeId made = id;
    while (t.graph().nodes[made].kind != NodeKind::branch) made = NodeId(made.index + 1);
    seen.emplace_back(t.graph().nodes[made].expected, t.graph().nodes[made].assumed);
    t.end_branch({}, {});
  };
  const Tracer::Loop loop = t.begin_for(number(1000), {}, at(2));
  branch(op("equal", {op("remainder", {loop.counter, number(100)}), number(0)}));
  branch(op("equal", {number(3), op("remainder", {loop.counter, number(8)})}));
  branch(op("equal", {op("remainder", {loop.counter, number(4)}), number(4)}));
  branch(op("equal", {op("remainder", {loop.counter, number(4)}), number(0)}), 0.75);
  branch(c);
  branch(truth(true));
  t.end_for({});
  EXPECT_EQ(seen,
            (std::vector<std::pair<double, bool>>{{0.01, false}, {0.125, false}, {0, false}, {0.75, false}, {0.5, true}, {1, false}}));
}

// --- scopes ----------------------------------------------------------------------------------------------------------

TEST_F(TracerTest, ScopesHoldForWhatIsMadeInside) {
  const Operand x = input("x", {DType::f32, {}});
  t.push_scope("outer", at(60));
  t.push_scope("inner", at(61));
  t.push_place(Side::host);
  t.push_allow({DiagnosticKind::round_trip, "meant"});
  const Operand y = op("add", {x, number(1)});
  const Operand moved = op("to_accelerator", {y});
  t.pop_allow();
  t.pop_place();
  t.pop_scope();
  const Operand z = op("exp", {y});
  t.pop_scope();
  const Graph& graph = t.graph();
  const Node& add = graph.producer(y.value);
  EXPECT_EQ(add.pin.side, Side::host);
  EXPECT_EQ(graph.producer(add.inputs[1]).pin.side, Side::none);  // a literal is wherever it is needed
  EXPECT_EQ(graph.producer(moved.value).pin.side, Side::none);
  EXPECT_EQ(add.allowed, (std::vector<Allowance>{{DiagnosticKind::round_trip, "meant"}}));
  ASSERT_NE(add.location.via, nullptr);
  EXPECT_EQ(add.location.via->label, "inner");
  EXPECT_EQ(add.location.via->location.line, 61);
  EXPECT_EQ(add.location.via->location.via->label, "outer");
  EXPECT_EQ(add.location.via, graph.producer(moved.value).location.via);  // shared
  EXPECT_EQ(graph.producer(z.value).location.via->label, "outer");
  EXPECT_TRUE(graph.producer(z.value).allowed.empty());
}

TEST_F(TracerTest, ValuesKeepTheirFirstName) {
  const Operand x = input("x", {DType::f32, {}});
  t.name(x, "y");
  const Operand z = op("exp", {x});
  t.name(z, "first");
  t.name(z, "second");
  EXPECT_EQ(t.graph().values[x.value].name, "x");
  EXPECT_EQ(t.graph().values[z.value].name, "first");
}

}  // namespace
}  // namespace cleave
