// OpDef: one record with everything cleave knows about one operation. graph/vocabulary.list is the one list of all records, graph/ops
// defines them, and code refers to them as objects: `op::matmul` (graph/vocabulary.h). Fast kernels belong to each device, which has one
// row for each record. Nothing here knows a device.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/array/array.h"
#include "graph/array/tensor_type.h"
#include "graph/attributes.h"
#include "graph/base/diagnostic.h"
#include "graph/base/id.h"
#include "graph/base/result.h"
#include "graph/work.h"

namespace cleave {

/// The device that an op or a user requires.
enum class Side : std::uint8_t { none, host, accelerator };

enum class Purity : std::uint8_t {
  pure,          ///< same inputs, same results: may run twice, be merged or dropped
  effect,        ///< ordered against every other effect, host only, never dropped
  undetermined,  ///< no effect, but not to be repeated or merged
};

/// Only the first elements of a value along `axis` count, as many as the i64 scalar `count` of the program holds.
struct Length {
  int axis = 0;
  ValueId count;
  friend bool operator==(const Length&, const Length&) = default;
};
using Lengths = std::vector<Length>;  ///< of one value: at most one for each axis

/// Elements that do not change a result, of the element type of an operand.
enum class Neutral : std::uint8_t {
  zero,
  one,
  lowest,   ///< of floating-point numbers: -infinity
  highest,  ///< infinity
  last,     ///< sorted behind all others: NaN
};

/// How the operands' element types are promoted before the type rule sees them (the Tracer inserts `astype` and gives literals their type).
enum class Promotion : std::uint8_t {
  none,      ///< operands keep their types; a bare literal becomes i32, f32 or bool
  common,    ///< to the common type
  floating,  ///< to the common type, integers and bool to f32 (`/`, `exp`)
};

/// The reason why a type rule rejects a call: kind `type`, `shape` or `value`.
struct TypeError {
  DiagnosticKind kind = DiagnosticKind::shape;
  std::string message;
};
using TypeResult = std::variant<std::vector<TensorType>, TypeError>;

struct CallLimits;
class Composer;
class GradientCall;
struct LengthCall;
class Part;

/// Services that the reference implementation of an op may use beside its operands.
struct OpContext {
  std::function<void(std::string_view)> print;  ///< one whole line without the newline; never null
  const CallLimits* limits = nullptr;           ///< for functions without limits of their own (call_limits.h); null: none
  /// Receives each logged scalar. An Error ends the run. Null: logged values are dropped.
  std::function<Status(std::string_view label, const Array& value)> log = {};
};

/// One execution of an op on the host.
struct OpCall {
  const Attributes& attributes;
  std::span<const Array> inputs;
  std::span<Array> results;  ///< allocated by the caller with the types of the type rule; zero-filled
  const OpContext& context;
};

/// How an operation is differentiated.
class GradientRule {
 public:
  /// Records the cotangents of the operands (graph/trace/gradient_call.h).
  using Trace = void (*)(Composer& composer, GradientCall& call);

  constexpr GradientRule() = default;
  constexpr GradientRule(Trace rule) : kind_(Kind::traced), trace_(rule) {}
  /// The results are piecewise constant, or no numbers: the gradient is zero, and the path to the operands ends here.
  static constexpr GradientRule zero() { return GradientRule(Kind::zero); }
  /// There is no gradient: a call on the way from an asked value to the loss is an error.
  static constexpr GradientRule none() { return GradientRule(Kind::none); }

  [[nodiscard]] constexpr bool stated() const { return kind_ != Kind::unstated; }
  [[nodiscard]] constexpr bool is_zero() const { return kind_ == Kind::zero; }
  [[nodiscard]] constexpr Trace trace() const { return trace_; }  ///< null: `zero` or `none`

 private:
  enum class Kind : std::uint8_t { unstated, traced, zero, none };
  constexpr explicit GradientRule(Kind kind) : kind_(kind) {}
  Kind kind_ = Kind::unstated;
  Trace trace_ = nullptr;
};

/// The default of a list of integers: one integer, which holds for every axis.
struct OneInteger {
  std::int64_t value = 0;
};
/// The default of a list of integers: none.
struct NoIntegers {};
/// The default of an attribute, as a constant.
using AttributeDefault = std::variant<bool, std::int64_t, double, std::string_view, DType, OneInteger, NoIntegers>;
AttributeValue to_value(const AttributeDefault& constant);

/// One attribute of an op: its name, the alternatives of AttributeValue that it accepts, and the default for a missing one.
struct AttributeDef {
  enum class Type : std::uint8_t { boolean, integer, number, text, integers, numbers, dtype, shape, array, types, function, any };
  std::string_view name;
  Type type = Type::integer;
  std::optional<AttributeDefault> fallback;  ///< nothing: see `required`
  bool required = false;                     ///< neither required nor fallback: absent is a meaning of its own (`axis`)
};

/// The attributes of one op: a list in the record itself, so that records are constants.
class AttributeDefs {
 public:
  constexpr AttributeDefs() = default;
  constexpr AttributeDefs(std::initializer_list<AttributeDef> defs) {
    for (const AttributeDef& def : defs) push_back(def);
  }
  constexpr void push_back(const AttributeDef& def) { defs_[size_++] = def; }
  [[nodiscard]] constexpr const AttributeDef* begin() const { return defs_.data(); }
  [[nodiscard]] constexpr const AttributeDef* end() const { return defs_.data() + size_; }
  [[nodiscard]] constexpr std::size_t size() const { return size_; }
  [[nodiscard]] constexpr bool empty() const { return size_ == 0; }

 private:
  static constexpr std::size_t kMost = 12;  // one more does not compile: records are constants
  std::array<AttributeDef, kMost> defs_{};
  std::size_t size_ = 0;
};

/// One operation, or a composite function: a constant, which its family's file in graph/ops defines. find_op("sum") finds one by name.
struct OpDef {
  std::string_view name;  ///< also its spelling in models and pictures; array API standard names where one exists
  int min_inputs = 0;
  int max_inputs = 0;  ///< -1: any number
  AttributeDefs attributes;
  Promotion promotion = Promotion::none;
  int promote_from = 0;  ///< the first operand that takes part in promotion (`where` keeps its condition: 1)
  Purity purity = Purity::pure;
  /// Positional spelling: parameter names in order. A name that is no attribute is an operand; `[xs]` is a list of operands; `x?` may be
  /// left out. "print(label, x)", "full(shape, value)", "concat([arrays], axis)", "random_uniform(shape, step?)".
  std::string_view signature;
  std::string_view summary;  ///< one line for the reference
  /// Names of the same function in NumPy, PyTorch or ONNX: "Conv, conv1d". The reader of models suggests this function for them.
  std::string_view also_called;

  TypeResult (*type_rule)(std::span<const TensorType> inputs, const Attributes& attributes) = nullptr;
  /// What becomes of operands of which only the first elements along an axis count (graph/length_call.h). Null: the op does not take them.
  bool (*length_rule)(LengthCall& call) = nullptr;
  Cost (*cost)(std::span<const TensorType> inputs, std::span<const TensorType> results, const Attributes& attributes) = nullptr;
  /// Some data cause an Error (an index out of range): the op must not be executed where the program does not execute it.
  bool may_fail = false;
  CostClass cost_class = CostClass::bookkeeping;
  /// The form of the work, for ops for which equal amounts of work differ in cost. Null for all others.
  WorkForm (*form)(std::span<const TensorType> inputs, std::span<const TensorType> results, const Attributes& attributes) = nullptr;
  /// The reference implementation on the host, with which every kernel is compared. Data errors (an index out of range) are an Error.
  Status (*reference)(const OpCall& call) = nullptr;
  /// Every operation states one; composite functions need none, since they are traced into operations.
  GradientRule gradient;

  /// Element-wise ops only: the scalar expression in C over operands `a`, `b`, `c`, from which host and device code come; else empty. The
  /// expression uses C math names (`exp(a)`), `?:`, casts, and `T`, the compute type of the operands (f16 and bf16 compute in f32; the
  /// condition of `where` is a bool), and the prelude of graph/ops/scalars.h. Integers wrap. graph/ops/convert.h converts the result.
  std::string_view scalar;
  /// The expression for i32, i64 and u8 operands where it differs, else equal to `scalar`.
  std::string_view scalar_integer;
  [[nodiscard]] constexpr bool elementwise() const { return !scalar.empty(); }

  /// Overrides `purity` where it depends on attributes (host_call). Null: `purity` holds.
  Purity (*purity_of)(const Attributes& attributes) = nullptr;
  /// Ops that request a transfer: `to_host` is an identity on the host, `to_accelerator` one on the accelerator; both mark the transfer as
  /// intended.
  Side moves_to = Side::none;
  /// The result has the bytes of the single operand in the same order: it is an alias (view) of it, possibly with another type. Where
  /// values need no memory of their own, no work is done.
  bool keeps_bytes = false;

  /// Composite functions only: traces the operations that compute the results from checked and promoted operands (graph/trace/composer.h).
  /// The results must have the types that the type rule gave. A composite function never stands in a Graph: it has no cost and no kernel.
  std::vector<Part> (*expand)(Composer& composer, const std::vector<Part>& inputs, const Attributes& attributes) = nullptr;
  [[nodiscard]] constexpr bool composite() const { return expand != nullptr; }

  [[nodiscard]] Purity purity_for(const Attributes& a) const { return purity_of ? purity_of(a) : purity; }
};

/// Checks the number of operands and the attributes, and normalizes the attributes: fills in fallbacks, turns an integer into a list of one
/// for `integers` and into a double for `number`. Must run before type_rule, cost and reference, which rely on it.
std::optional<TypeError> normalize_call(const OpDef& op, std::size_t input_count, Attributes& attributes);

/// The op or transform of this name; null if there is none. The list is graph/vocabulary.list.
const OpDef* find_op(std::string_view name);
/// All ops, by name. Transforms (`gradient`), which a pass replaces before anything is planned, are not among them.
std::span<const OpDef* const> all_ops();
/// The op or composite function of this name; null if there is none.
const OpDef* find_function(std::string_view name);
/// All ops and composite functions, sorted by name.
std::span<const OpDef* const> all_functions();

}  // namespace cleave
