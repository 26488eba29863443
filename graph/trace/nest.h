// Nests: nested structures of Tensors, as loop state and as results of traces. A nest is a Tensor; a tuple, pair, array or vector of nests;
// or a plain struct that lists its members:
//
//   struct Layer {
//     Tensor w, b;
//     auto members() { return std::tie(w, b); }
//     static constexpr std::array member_names{"w", "b"};   // optional: names of carried values and outputs
//   };
#pragma once

#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "graph/trace/tensor.h"

namespace cleave {

/// One Tensor of a nest and its path in it ("layers.0.w"; empty: unknown).
struct Leaf {
  Tensor* tensor;
  std::string name;
};

namespace detail {

template <class T>
concept Struct = requires(T& nest) {
  nest.members();
};
template <class T>
concept Tuple = requires {
  std::tuple_size<T>::value;
};
template <class T>
concept Sequence = requires(T& nest) {
  nest.begin();
  nest.end();
  typename T::value_type;
};

inline std::string nested_name(const std::string& path, std::string_view name) {
  return path.empty() || name.empty() ? path + std::string(name) : path + "." + std::string(name);
}

template <class T>
void collect(T& nest, const std::string& path, std::vector<Leaf>& leaves);

template <class T, class Members, std::size_t... i>
void collect_tuple(Members& members, const std::string& path, std::vector<Leaf>& leaves, std::index_sequence<i...>) {
  if constexpr (requires { T::member_names; })
    (collect(std::get<i>(members), nested_name(path, T::member_names[i]), leaves), ...);
  else
    (collect(std::get<i>(members), path.empty() ? path : nested_name(path, std::to_string(i)), leaves), ...);
}

template <class T>
void collect(T& nest, const std::string& path, std::vector<Leaf>& leaves) {
  if constexpr (std::is_same_v<T, Tensor>) {
    leaves.push_back({&nest, path});
  } else if constexpr (Struct<T>) {
    auto members = nest.members();
    collect_tuple<T>(members, path, leaves, std::make_index_sequence<std::tuple_size_v<decltype(members)>>());
  } else if constexpr (Tuple<T>) {
    collect_tuple<T>(nest, path, leaves, std::make_index_sequence<std::tuple_size_v<T>>());
  } else {
    static_assert(Sequence<T>, "not a nest of Tensors: a struct lists its members, `auto members() { return std::tie(w, b); }`");
    std::size_t i = 0;
    for (auto& item : nest) collect(item, path.empty() ? path : nested_name(path, std::to_string(i++)), leaves);
  }
}

}  // namespace detail

/// The Tensors of a nest, in order. They point into `nest`.
template <class T>
std::vector<Leaf> leaves(T& nest) {
  std::vector<Leaf> result;
  detail::collect(nest, {}, result);
  return result;
}

/// The type in which a nest is stored: numbers become Tensors (literals).
template <class T>
using NestOf = std::conditional_t<std::is_arithmetic_v<std::decay_t<T>>, Tensor, std::decay_t<T>>;

}  // namespace cleave
