// The head of a network from an ONNX file learns the first 128 digits; the rest of its weights are constants.
#include <cleave/optim.h>

#include <cstdio>

using namespace cleave;

int main() {
  const Result<Network> net = Network::load("docs/examples/digits_net.onnx", {.parameters = {"head.*"}});
  if (!net) return std::fprintf(stderr, "%s\n", net.error().message.c_str()), 1;
  const Graph graph = trace("tune", {{"x", "u8[3823, 64]"}, {"y", "u8[3823]"}}, [&](Tensor images, Tensor labels) {
    const Tensor x = astype(images.slice({{0, 128}}), DType::f32), y = labels.slice({{0, 128}});
    const std::vector<Tensor> weights = net->weights("net");  // parameters net.head.weight, net.head.bias
    const std::vector<Tensor> tuned = for_loop(100, weights, [&](Tensor, std::vector<Tensor> w) {
      const Tensor loss = cross_entropy((*net)(w, {x}), y);
      return optim::sgd(w, gradient(loss, w), {.rate = 0.1});
    });
    const Tensor before = cross_entropy((*net)(weights, {x}), y), after = cross_entropy((*net)(tuned, {x}), y);
    return named("better", after < 0.3 * before);
  });

  Result<Executable> program = compile(graph, {.device = "none"});
  if (!program) return std::fputs(to_text(program.error()).c_str(), stderr), 1;
  const Result<Array> images = read_npy("models/data/digits_train.npy"), labels = read_npy("models/data/digits_train_labels.npy");
  if (!images || !labels) return std::fputs("run this from the top of the source tree\n", stderr), 1;
  Result<RunResult> result = program->run({{"x", *images}, {"y", *labels}});
  if (!result) return std::fputs(to_text(result.error()).c_str(), stderr), 1;
  std::printf("better: %s\n", to_string(*result->output("better")).c_str());
}
