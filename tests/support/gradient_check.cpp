#include "tests/support/gradient_check.h"

#include <random>

#include "executor/check/reference.h"
#include "graph/gradient/differentiate.h"
#include "graph/passes/verify.h"
#include "graph/vocabulary.h"

namespace cleave::testing {
namespace {

/// The outputs of a run, or what went wrong.
Result<NamedArrays> run(const Graph& graph, const NamedArrays& inputs) {
  RunOptions options;
  for (const auto& [name, array] : inputs) options.inputs.emplace(name, array);
  Result<RunResult> ran = runtime::run_reference(graph, options);
  if (!ran) return ran.error();
  NamedArrays outputs;
  for (auto& [name, array] : ran->outputs) outputs.emplace(name, std::move(array));
  return outputs;
}

bool differs(const Array& array) {
  return array.dtype() == DType::f64;
}

Array moved(const Array& from, const Array& direction, double step) {
  Array to(from.type());
  for (std::int64_t i = 0; i < from.size(); ++i) to.mutable_data<double>()[i] = from.data<double>()[i] + step * direction.data<double>()[i];
  return to;
}

NamedArrays moved(const NamedArrays& from, const NamedArrays& direction, double step) {
  NamedArrays to = from;
  for (const auto& [name, along] : direction) to.at(name) = moved(from.at(name), along, step);
  return to;
}

}  // namespace

Graph with_gradients(const NamedArrays& inputs, const RecordLoss& loss) {
  const SourceLocation here = SourceLocation::from(Here::now());
  Tracer tracer("gradients");
  std::map<std::string, Operand> operands;
  std::vector<std::string> asked;
  for (const auto& [name, array] : inputs) operands.emplace(name, tracer.input(name, array.type(), {}, here));
  const Operand value = loss(tracer, operands);
  std::vector<Operand> given{value};
  for (const auto& [name, array] : inputs) {
    if (!differs(array)) continue;
    asked.push_back(name);
    given.push_back(operands.at(name));
  }
  tracer.output("loss", value, here);
  if (!asked.empty()) {
    const std::vector<Operand> gradients = tracer.apply(op::gradient, given, {}, here);
    for (std::size_t i = 0; i < gradients.size(); ++i) tracer.output("gradient of " + asked.at(i), gradients[i], here);
  }
  return tracer.finish();
}

std::vector<GradientDifference> compare_gradients(const NamedArrays& inputs, const RecordLoss& loss, unsigned seed, int directions,
                                                  double step) {
  const auto failed = [](const std::string& why) { return std::vector<GradientDifference>{{0, 0, why}}; };
  const Graph graph = differentiate(with_gradients(inputs, loss));
  if (!graph.ok()) return failed(graph.diagnostics.begin()->message);
  if (const auto broken = verify(graph); !broken.empty()) return failed(broken.front());
  const Result<NamedArrays> here = run(graph, inputs);
  if (!here) return failed(here.error().message);
  std::vector<GradientDifference> found;
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  for (int k = 0; k < directions; ++k) {
    NamedArrays direction;
    GradientDifference difference;
    for (const auto& [name, array] : inputs) {
      if (!differs(array)) continue;
      Array along(array.type());
      for (std::int64_t i = 0; i < along.size(); ++i) along.mutable_data<double>()[i] = normal(random);
      const Array& gradient = here->at("gradient of " + name);
      for (std::int64_t i = 0; i < along.size(); ++i) difference.by_gradient += gradient.data<double>()[i] * along.data<double>()[i];
      direction.emplace(name, std::move(along));
    }
    const Result<NamedArrays> ahead = run(graph, moved(inputs, direction, step)), behind = run(graph, moved(inputs, direction, -step));
    if (!ahead || !behind) return failed((ahead ? behind : ahead).error().message);
    difference.by_difference = (ahead->at("loss").at(0) - behind->at("loss").at(0)) / (2 * step);
    found.push_back(difference);
  }
  return found;
}

}  // namespace cleave::testing
