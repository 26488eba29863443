// The values that a statement of a random program may read, and operands made of them: of a wanted type, with data that an operation can
// be given.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "graph/trace/tracer.h"
#include "tests/random/generator.h"

namespace cleave::testing {

struct PooledValue {
  Operand operand;
  TensorType type;
  Data data = Data::wild;  ///< the range of its floating elements
  std::uint64_t id = 0;    ///< depends only on the statement that made the value
};

class ValuePool {
 public:
  ValuePool(Tracer& tracer, GeneratedProgram& program, bool large)
      : tracer_(tracer), program_(program), large_(large), file_(std::make_shared<std::string>("random.cpp")) {}

  SourceLocation here() { return {file_, ++line_, 1, nullptr}; }

  void add_leaf(Draw& draw);  ///< an input, a parameter or a constant
  void add(PooledValue value);
  /// Adds those results of a call that later statements may read.
  void keep(Draw& draw, const OpDef& op, const std::vector<PooledValue>& operands, const std::vector<Operand>& results);
  /// Values added from here on can be read until the region ends; leaves are constants in the region.
  void begin_region() { regions_.push_back(values_.size()); }
  void end_region() {
    values_.resize(regions_.back());
    regions_.pop_back();
  }

  [[nodiscard]] const PooledValue* any(Draw& draw) const;
  [[nodiscard]] const PooledValue* late(Draw& draw) const;  ///< one of those added last
  PooledValue value(Draw& draw, const Operand& operand, Data data);
  /// A value of that type with such data: an existing one, one made from another value, or a new leaf.
  PooledValue of_type(Draw& draw, const TensorType& type, Data data);
  /// A value for operand `index` of `call`.
  PooledValue operand(Draw& draw, const DrawnCall& call, std::size_t index);
  Operand small_integer(Draw& draw, std::int64_t below);  ///< an i32 scalar from 0, often computed
  Operand predicate(Draw& draw);
  Operand apply(std::string_view op, std::initializer_list<Operand> operands, Attributes attributes = {});

 private:
  template <class Wanted>
  const PooledValue* find(Draw& draw, const Wanted& wanted) const;
  std::optional<PooledValue> adapted(Draw& draw, const TensorType& type, Data data);
  PooledValue leaf(Draw& draw, const TensorType& type, Data data);
  PooledValue leaf_of(Draw& draw, Array array, Data data);

  Tracer& tracer_;
  GeneratedProgram& program_;
  bool large_;
  std::shared_ptr<const std::string> file_;
  std::vector<PooledValue> values_;
  std::vector<std::size_t> regions_;  ///< for each open region, the number of values at its begin
  int line_ = 0;
};

}  // namespace cleave::testing
