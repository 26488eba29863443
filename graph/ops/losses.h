// Losses of training, and dropout: composite functions. Each loss is a scalar, the mean over all elements or rows, computed in f32 for f16
// and bf16, in a form that neither overflows nor cancels for large numbers.
#pragma once

#include <optional>

#include "graph/ops/ops.h"

namespace cleave {

struct CrossEntropyOptions {
  double label_smoothing = 0;  ///< a share that goes to all classes equally, from 0 to below 1
};
/// Mean over the rows of the cross entropy of logits `x` [rows…, classes] with `labels`: integers [rows…], each a class, or floating-point
/// probabilities of the shape of `x`. A label outside the classes is an Error of the run. Error `type`: x is not floating; `shape`: the
/// labels' shape fits no rows; `value`: the smoothing is out of range.
///   Tensor loss = cross_entropy(logits, labels, {.label_smoothing = 0.1});
Tensor cross_entropy(const Tensor& x, const Tensor& labels, const CrossEntropyOptions& options = {}, Here here = Here::now());
/// The mean of the squared differences.
Tensor mse(const Tensor& x, const Tensor& y, Here here = Here::now());
/// The mean of half the squared differences, which grow linearly beyond `delta` (Huber 1964).
Tensor huber(const Tensor& x, const Tensor& y, double delta = 1, Here here = Here::now());
/// The mean cross entropy of logits `x` with probabilities `y` of one class: [n], [n] -> [].
Tensor binary_cross_entropy(const Tensor& x, const Tensor& y, Here here = Here::now());

struct DropoutOptions {
  std::int64_t seed = 0;
  std::optional<Tensor> step = {};  ///< an integer scalar that counts the updates; each value drops other elements
};
/// `x` with each element 0 by the probability `rate` (from 0 to below 1), and divided by `1 - rate` otherwise, for training.
///   Tensor h = dropout(relu(matmul(x, w) + b), 0.5, {.step = step});
Tensor dropout(const Tensor& x, double rate, const DropoutOptions& options = {}, Here here = Here::now());

}  // namespace cleave
