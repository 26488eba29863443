// Network: an ONNX file that a traced program calls like a function. Its weights are parameters of that program, for gradients, optimizers
// and states.
//
//   const Result<Network> net = Network::load("net.onnx", {.parameters = {"all"}});
//   Graph graph = trace("tune", {{"x", "f32[8, 64]"}, {"y", "i32[8]"}}, [&](Tensor x, Tensor y) {
//     const auto tuned = for_loop(100, net->weights("net"), [&](Tensor, std::vector<Tensor> weights) {
//       const Tensor loss = cross_entropy((*net)(weights, {x}), y);
//       return optim::sgd(weights, gradient(loss, weights), {.rate = 0.01});
//     });
//     return (*net)(tuned, {x});
//   });
#pragma once

#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "graph/trace/tensor.h"
#include "models/model.h"

namespace cleave {

namespace models {
class OnnxFunction;
}

/// Copies share the file. Not for use by several threads at once.
class Network {
 public:
  /// Opens an ONNX file; it is read for the types of each call. Weights that `options.parameters` does not choose are constants. An Error
  /// for a file that cannot be read, and for a pattern that chooses no weight.
  static Result<Network> load(const std::string& path, const ModelOptions& options = {});

  /// The names of the weights in the file.
  [[nodiscard]] std::vector<std::string> names() const;
  /// Declares the weights as parameters of the trace in progress, `PREFIX.NAME`, or `NAME` if the prefix is empty. Must be called once in a
  /// trace, outside of loops and branches.
  [[nodiscard]] std::vector<Tensor> weights(const std::string& prefix, Here here = Here::now()) const;

  /// Records a call of a network with one result. `weights` has a value for each weight, of its type. A mistake in the call is reported at
  /// the user's line, as is one in the file for these types of arguments.
  Tensor operator()(const std::vector<Tensor>& weights, std::initializer_list<Tensor> arguments, Here here = Here::now()) const;
  /// The same for networks with several results.
  [[nodiscard]] std::vector<Tensor> results(const std::vector<Tensor>& weights, std::span<const Tensor> arguments,
                                            Here here = Here::now()) const;

 private:
  explicit Network(std::shared_ptr<models::OnnxFunction> function, std::string name)
      : function_(std::move(function)), name_(std::move(name)) {}

  std::shared_ptr<models::OnnxFunction> function_;
  std::string name_;
};

}  // namespace cleave
