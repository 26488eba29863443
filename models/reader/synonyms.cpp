#include "models/reader/synonyms.h"

#include <algorithm>

#include "graph/array/tensor_type.h"
#include "graph/op.h"

namespace cleave::models {
namespace {

struct Synonym {
  std::string_view name;
  std::string_view mend;  ///< an expression of operations; the row is skipped if the first one does not exist
};

/// Names from NumPy, PyTorch, JAX and other languages, with the expression to write. Of several rows with one name, the first whose
/// operation exists is used. Names of exactly the same function stand in its record (`also_called`).
constexpr Synonym kOperations[] = {
    {"mm", "matmul(a, b)"},
    {"bmm", "matmul(a, b)"},
    {"mv", "matmul(a, b)"},
    {"dot", "matmul(a, b)"},
    {"inner", "matmul(a, b)"},
    {"vdot", "sum(a * b)"},
    {"power", "pow(a, b)"},
    {"cumsum", "cumulative_sum(x, axis=0)"},
    {"cumprod", "cumulative_prod(x, axis=0)"},
    {"int", "astype(x, i32)"},
    {"int32", "astype(x, i32)"},
    {"long", "astype(x, i64)"},
    {"int64", "astype(x, i64)"},
    {"float", "astype(x, f32)"},
    {"float32", "astype(x, f32)"},
    {"double", "astype(x, f64)"},
    {"float64", "astype(x, f64)"},
    {"half", "astype(x, f16)"},
    {"bool", "astype(x, bool)"},
    {"cast", "astype(x, f32)"},
    {"convert", "astype(x, f32)"},
    {"amax", "max(x, axis=0)"},
    {"amin", "min(x, axis=0)"},
    {"average", "mean(x)"},
    {"median", "sort(x, axis=0)[n // 2]"},
    {"concatenate", "concat([a, b], axis=0)"},
    {"cat", "concat([a, b], axis=0)"},
    {"vstack", "concat([a, b], axis=0)"},
    {"hstack", "concat([a, b], axis=1)"},
    {"absolute", "abs(x)"},
    {"fabs", "abs(x)"},
    {"neg", "negative(x)"},
    {"sgn", "sign(x)"},
    {"sqr", "square(x)"},
    {"ln", "log(x)"},
    {"arcsin", "asin(x)"},
    {"arccos", "acos(x)"},
    {"arctan", "atan(x)"},
    {"arctan2", "atan2(a, b)"},
    {"arcsinh", "asinh(x)"},
    {"arccosh", "acosh(x)"},
    {"arctanh", "atanh(x)"},
    {"left_shift", "a << b"},
    {"right_shift", "a >> b"},
    {"mod", "remainder(a, b)"},
    {"fmod", "remainder(a, b)"},
    {"div", "divide(a, b)"},
    {"true_divide", "divide(a, b)"},
    {"mul", "multiply(a, b)"},
    {"sub", "subtract(a, b)"},
    {"eq", "equal(a, b)"},
    {"ne", "not_equal(a, b)"},
    {"lt", "less(a, b)"},
    {"le", "less_equal(a, b)"},
    {"gt", "greater(a, b)"},
    {"ge", "greater_equal(a, b)"},
    {"swapaxes", "permute_dims(x, [1, 0, 2])"},
    {"moveaxis", "permute_dims(x, [1, 0, 2])"},
    {"permute", "permute_dims(x, [1, 0, 2])"},
    {"view", "reshape(x, [-1])"},
    {"flatten", "reshape(x, [-1])"},
    {"ravel", "reshape(x, [-1])"},
    {"unsqueeze", "expand_dims(x, 0)"},
    {"newaxis", "expand_dims(x, 0)"},
    {"expand", "broadcast_to(x, [n, m])"},
    {"gather", "take(x, indices, axis=0)"},
    {"index_select", "take(x, indices, axis=0)"},
    {"select", "where(condition, a, b)"},
    {"choose", "where(condition, a, b)"},
    {"ifelse", "where(condition, a, b)"},
    {"iif", "where(condition, a, b)"},
    {"clamp", "clip(x, low, high)"},
    {"clip_by_value", "clip(x, low, high)"},
    {"rand", "random_uniform([n])"},
    {"uniform", "random_uniform([n])"},
    {"randn", "random_normal([n])"},
    {"normal", "random_normal([n])"},
    {"gaussian", "random_normal([n])"},
    {"randint", "random_integers([n], low, high)"},
    {"randperm", "random_permutation(n)"},
    {"shuffle", "take(x, random_permutation(n), axis=0)"},
    {"identity", "eye(n)"},
    {"empty", "zeros([n])"},
    {"fill", "full([n], value)"},
    {"reverse", "flip(x, axis=0)"},
    {"fliplr", "flip(x, axis=1)"},
    {"flipud", "flip(x, axis=0)"},
    {"topk", "top_k(x, k)"},
    {"argwhere", "nonzero(x)"},
    {"extract", "compress(condition, x)"},
    {"masked_select", "x[mask]"},
    {"boolean_mask", "x[mask]"},
    {"digitize", "searchsorted(edges, x, side=\"right\")"},
    {"bucketize", "searchsorted(edges, x)"},
    {"nms", "non_max_suppression(boxes, scores, n)"},
    {"norm", "sqrt(sum(x ** 2))"},
    {"silu", "x * sigmoid(x)"},
    {"swish", "x * sigmoid(x)"},
    {"leaky_relu", "where(x > 0, x, 0.01 * x)"},
    {"softplus", "log1p(exp(x))"},
    {"log2", "log(x) / log(2.0)"},
    {"exp2", "pow(2.0, x)"},
    {"isnan", "not_equal(x, x)"},
    {"var", "mean((x - mean(x)) ** 2)"},
    {"std", "sqrt(mean((x - mean(x)) ** 2))"},
    {"save", "write_npy(\"file.npy\", x)"},
    {"to_csv", "write_npy(\"file.npy\", x)"},
    {"printf", "print(\"label\", x)"},
    {"echo", "print(\"label\", x)"},
};

/// Names that no operation replaces, with another way to express them.
constexpr Synonym kOtherWays[] = {
    {"len", "sizes are known when the model is read: name them under `dims:`"},
    {"size", "sizes are known when the model is read: name them under `dims:`"},
    {"shape", "sizes are known when the model is read: name them under `dims:`"},
    {"numel", "sizes are known when the model is read: name them under `dims:`"},
    {"range", "a loop is written `for: i in range(a, b, step)`, a vector of numbers `arange(a, b)`"},
    {"array", "a list is written `[1, 2, 3]`"},
    {"asarray", "a list is written `[1, 2, 3]`"},
    {"tensor", "a list is written `[1, 2, 3]`"},
    {"load", "data are inputs: `inputs: {x: {type: \"f32[n]\", file: x.npy}}`"},
    {"read_csv", "data are inputs: `inputs: {x: {type: \"f32[n]\", file: x.csv}}`"},
};

constexpr std::string_view kPlaces = "cleave decides where values lie; `place: accelerator` pins a statement";
constexpr std::string_view kItself = "write `x`";  ///< `x`: the value whose method it is

constexpr Synonym kMethods[] = {
    {"cuda", kPlaces},
    {"cpu", kPlaces},
    {"gpu", kPlaces},
    {"to", kPlaces},
    {"device", kPlaces},
    {"item", kItself},
    {"detach", kItself},
    {"numpy", kItself},
    {"clone", kItself},
    {"copy", kItself},
    {"tolist", kItself},
    {"contiguous", kItself},
    {"backward", "a gradient is an expression: `gradient(loss, w)`"},
};

constexpr Synonym kTypes[] = {
    {"float32", "f32"}, {"float", "f32"},     {"single", "f32"}, {"float64", "f64"},  {"double", "f64"}, {"float16", "f16"},
    {"half", "f16"},    {"bfloat16", "bf16"}, {"int32", "i32"},  {"int", "i32"},      {"int64", "i64"},  {"long", "i64"},
    {"int16", "i16"},   {"short", "i16"},     {"int8", "i8"},    {"char", "i8"},      {"uint8", "u8"},   {"byte", "u8"},
    {"uint16", "u16"},  {"uint32", "u32"},    {"uint64", "u64"}, {"boolean", "bool"}, {"bool_", "bool"}, {"logical", "bool"},
};

constexpr Synonym kArguments[] = {
    {"dim", "axis"}, {"dims", "axis"}, {"axes", "axis"}, {"keepdim", "keepdims"}, {"keep_dims", "keepdims"}, {"size", "shape"},
};

constexpr Synonym kSides[] = {
    {"gpu", "accelerator"}, {"cuda", "accelerator"}, {"device", "accelerator"}, {"tpu", "accelerator"}, {"cpu", "host"},
};

constexpr Synonym kNames[] = {
    {"None", "there is no such value; leave the argument out, and write `x[:, None]` for a new axis"},
    {"null", "there is no such value; leave the argument out"},
    {"nil", "there is no such value; leave the argument out"},
    {"newaxis", "write `x[:, None]`"},
    {"break", "a loop ends early by a condition: `until:` of a `for`, or that of a `while`"},
    {"continue", "what a trip leaves out stands under an `if:`"},
    {"pass", "leave the statement out"},
    {"return", "a function gives what stands under `returns:`"},
    {"pi", "write `3.141592653589793`"},
    {"inf", "write `1.0 / 0.0`"},
    {"nan", "write `0.0 / 0.0`"},
};

/// Whether the operation that `mend` begins with exists; if it begins with an operator, there is none to check.
bool exists(std::string_view mend) {
  const std::size_t open = mend.find('(');
  const std::string_view first = mend.substr(0, open);
  return first.find_first_of(" -") != std::string_view::npos || find_function(first) != nullptr;
}

template <std::size_t kCount>
std::string_view mend_of(const Synonym (&table)[kCount], std::string_view name) {
  for (const Synonym& synonym : table) {
    if (synonym.name == name) return synonym.mend;
  }
  return {};
}

/// The function whose record says that it is also called `name`; null if there is none.
const OpDef* function_also_called(std::string_view name) {
  const auto lists = [&](const OpDef* function) {
    std::string_view names = function->also_called;
    while (!names.empty()) {
      const std::string_view first = names.substr(0, names.find(", "));
      if (first == name) return true;
      names.remove_prefix(std::min(names.size(), first.size() + 2));
    }
    return false;
  };
  const auto found = std::find_if(all_functions().begin(), all_functions().end(), lists);
  return found == all_functions().end() ? nullptr : *found;
}

}  // namespace

std::string instead_of_method(std::string_view name, std::string_view owner) {
  const std::string_view mend = mend_of(kMethods, name);
  if (mend.empty()) return {};
  return mend == kItself ? "; write `" + std::string(owner) + "`" : "; " + std::string(mend);
}

std::string_view dtype_meant(std::string_view name) {
  const std::string_view meant = mend_of(kTypes, name);
  return parse_dtype(meant) ? meant : std::string_view();
}

std::string_view argument_meant(std::string_view name) {
  return mend_of(kArguments, name);
}

std::string_view place_meant(std::string_view name) {
  return mend_of(kSides, name);
}

std::string instead_of_operation(std::string_view name) {
  for (const Synonym& synonym : kOperations) {
    if (synonym.name == name && exists(synonym.mend)) return "; write `" + std::string(synonym.mend) + "`";
  }
  if (const OpDef* function = function_also_called(name)) return "; write `" + std::string(function->signature) + "`";
  const std::string_view other_way = mend_of(kOtherWays, name);
  return other_way.empty() ? "" : "; " + std::string(other_way);
}

std::string instead_of_name(std::string_view name) {
  const std::string_view mend = mend_of(kNames, name);
  return mend.empty() ? "" : "; " + std::string(mend);
}

}  // namespace cleave::models
