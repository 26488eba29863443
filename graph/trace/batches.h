// Batches: the rows of arrays, read a batch at a time by the iterations of a loop. A C++ program gives `batches(…)` to `for_loop` in place
// of a count.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>

#include "graph/trace/batch_reader.h"
#include "graph/trace/control_flow.h"

namespace cleave {

/// Arrays of equally many rows, and how they are read. Made by `batches`.
template <std::size_t n>
struct Batches {
  std::array<Tensor, n> arrays;
  BatchOptions options;
  Here here;
};

/// The first axis of each array, `size` rows at a time; `for_loop` takes this in place of a count:
///
///   net = for_loop(batches({images, labels}, {.size = 64, .shuffle = 7}), net, [&](Tensor x, Tensor y, Net net) { … });
///
/// Errors, at this line: `shape` for an array without rows, or with another number of rows; `value` for a size that is not from 1 to the
/// number of rows.
template <std::size_t n>
Batches<n> batches(const Tensor (&arrays)[n], const BatchOptions& options, Here here = Here::now()) {
  Batches<n> result{{}, options, here.of("batches")};
  for (std::size_t i = 0; i < n; ++i) result.arrays[i] = arrays[i];
  return result;
}

namespace detail {

/// BatchReader for Tensors: the loops over whole batches and, if there is one, over the smaller one.
class BatchLoops {
 public:
  BatchLoops(const Tensor* arrays, std::size_t count, const BatchOptions& options, bool counts_rows, const Here& here);

  /// Whether another loop has to be recorded: over the whole batches, then over the smaller one.
  [[nodiscard]] bool next();
  [[nodiscard]] Tensor trips() const;
  void read(const Tensor& counter, Tensor* batch, Tensor* real_rows) const;
  void refuse_until() const;

 private:
  std::shared_ptr<TraceContext> context_;
  std::optional<BatchReader> reader_;
  BatchOptions options_;
  Here here_;
  int loop_ = -1;  ///< 0: whole batches; 1: the smaller one
};

template <class F, class S, class... First>
constexpr bool takes_parts() {
  if constexpr (Tuple<S>) return []<std::size_t... i>(std::index_sequence<i...>) {
      return std::invocable<F&, const First&..., std::tuple_element_t<i, S>&...>;
    }
  (std::make_index_sequence<std::tuple_size_v<S>>());
  else return false;
}
/// Whether call_with_state(f, state, first...) is possible.
template <class F, class S, class... First>
constexpr bool takes_state() {
  return std::invocable<F&, const First&..., S&> || takes_parts<F, S, First...>();
}

template <std::size_t>
using TensorAt = Tensor;

/// Whether the body of a loop over batches takes the number of real rows after the batch.
template <class F, class S, std::size_t... i>
constexpr bool counts_rows(std::index_sequence<i...>) {
  return !takes_state<F, S, TensorAt<i>...>();
}

template <class F, class S, std::size_t n, std::size_t... i>
decltype(auto) call_with_batch(F& f, S& state, const std::array<Tensor, n>& batch, const Tensor& rows, std::index_sequence<i...> all) {
  if constexpr (counts_rows<F, S>(all))
    return call_with_state(f, state, batch[i]..., rows);
  else
    return call_with_state(f, state, batch[i]...);
}

template <class T>
inline constexpr bool is_until = false;
template <class S>
inline constexpr bool is_until<Until<S>> = true;

}  // namespace detail

/// `state = body(x, y, …, state)` for each batch, with a value for each array of `batches`. With `Remainder::pad` the body may take the
/// number of real rows, an i32 scalar, after them; with `Remainder::smaller` it is run twice, to record it for both shapes, and may not
/// return `until`. Otherwise as `for_loop` over a count.
template <std::size_t n, class S, class F>
NestOf<S> for_loop(const Batches<n>& batches, S&& initial, F&& body, const LoopOptions& options = {}, Here here = Here::now()) {
  constexpr auto all = std::make_index_sequence<n>();
  NestOf<S> state = std::forward<S>(initial);
  detail::BatchLoops loops(batches.arrays.data(), n, batches.options, detail::counts_rows<F, NestOf<S>>(all), batches.here);
  while (loops.next()) {
    detail::LoopRecorder loop(detail::LoopRecorder::Kind::count, loops.trips(), leaves(state), options, here);
    if (!loop.open()) return state;
    NestOf<S> inside = state;
    std::array<Tensor, n> batch;
    Tensor rows;
    loops.read(loop.counter(), batch.data(), &rows);
    auto result = detail::call_with_batch(body, inside, batch, rows, all);
    if constexpr (detail::is_until<decltype(result)>) loops.refuse_until();
    detail::close_loop(loop, std::move(result));
  }
  return state;
}

/// The same for its effects, without state.
template <std::size_t n, class F>
void for_loop(const Batches<n>& batches, F&& body, const LoopOptions& options = {}, Here here = Here::now()) {
  for_loop(
      batches, std::tuple<>(),
      [&](const std::same_as<Tensor> auto&... batch) requires std::invocable<F&, decltype(batch)...> {
        if constexpr (std::is_void_v<std::invoke_result_t<F&, decltype(batch)...>>) {
          body(batch...);
          return std::tuple<>();
        } else {
          return body(batch...);
        }
      },
      options, here);
}

}  // namespace cleave
