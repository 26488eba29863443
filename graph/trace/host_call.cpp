#include "graph/trace/host_call.h"

#include <condition_variable>
#include <exception>
#include <mutex>

#include "graph/trace/trace_context.h"

namespace cleave {

struct HostTokenState {
  std::mutex mutex;
  std::condition_variable changed;
  std::optional<Status> outcome;

  void complete(Status status) {
    const std::lock_guard lock(mutex);
    if (!outcome) outcome = std::move(status);
    changed.notify_all();
  }
  Status wait() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return outcome.has_value(); });
    return *outcome;
  }
  static HostToken token(const std::shared_ptr<HostTokenState>& state) { return HostToken(state); }
};

HostToken::HostToken(std::shared_ptr<HostTokenState> state)
    : alive_(state.get(),
             [state](void*) {
               state->complete(Error{"the asynchronous host function dropped its token without completing it", {}, ErrorKind::user});
             }),
      state_(std::move(state)) {}

void HostToken::done() const {
  state_->complete({});
}
void HostToken::fail(std::string message) const {
  state_->complete(Error{std::move(message), {}, ErrorKind::user});
}

namespace detail {
namespace {

template <class Call>
Status without_exceptions(Call&& call) {
  try {
    return call();
  } catch (const std::exception& e) {
    return Error{std::string("the host function threw: ") + e.what(), {}, ErrorKind::user};
  } catch (...) {
    return Error{"the host function threw an exception", {}, ErrorKind::user};
  }
}

std::string ordinal(std::size_t i) {
  return "operand " + std::to_string(i + 1);
}

/// Why the callable does not fit the call, or an empty text.
std::string mismatch(const HostCallable& callable, std::span<const TensorType> results, std::span<const std::optional<TensorType>> inputs) {
  if (!callable.typed) return {};
  if (callable.inputs.size() != inputs.size())
    return "takes " + std::to_string(callable.inputs.size()) + " inputs, but " + std::to_string(inputs.size()) + " are given";
  if (callable.results.size() != results.size())
    return "fills " + std::to_string(callable.results.size()) + " results, but " + std::to_string(results.size()) + " types are given";
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (callable.inputs[i] && inputs[i] && *callable.inputs[i] != inputs[i]->dtype)
      return "takes " + std::string(to_string(*callable.inputs[i])) + " as " + ordinal(i) + ", but " + to_string(*inputs[i]) + " is given";
  for (std::size_t i = 0; i < results.size(); ++i)
    if (callable.results[i] && *callable.results[i] != results[i].dtype)
      return "fills result " + std::to_string(i + 1) + " as " + std::string(to_string(*callable.results[i])) + ", but its type is " +
             to_string(results[i]);
  return {};
}

}  // namespace

std::function<Status(HostInputs, HostResults)> guarded(std::function<Status(HostInputs, HostResults)> f) {
  return [f = std::move(f)](HostInputs inputs, HostResults results) { return without_exceptions([&] { return f(inputs, results); }); };
}

std::function<Status(HostInputs, HostResults)> guarded(std::function<Status(HostInputs, HostResults, HostToken)> f) {
  return [f = std::move(f)](HostInputs inputs, HostResults results) {
    auto state = std::make_shared<HostTokenState>();
    Status started = without_exceptions([&] { return f(inputs, results, HostTokenState::token(state)); });
    // Where it failed to start, the token may still be held by work that writes to the results: wait for its end too.
    Status finished = state->wait();
    return started.ok() ? finished : started;
  };
}

std::vector<Tensor> record_host_call(const HostName& name, std::span<const TypeSpec> results, const HostOptions& options,
                                     HostCallable callable, const std::vector<Tensor>& inputs) {
  std::vector<Tensor> none(results.size());
  const Here here = name.here.of("host_call");
  TraceContext* context = TraceContext::current();
  if (!context) {
    TraceContext::report(DiagnosticKind::value, here, "`host_call` outside of a trace");
    return none;
  }
  HostFunction function;
  function.name = name.name;
  function.pure = options.pure;
  function.seconds = options.seconds;
  bool good = true;
  for (const TypeSpec& spec : results) {
    std::optional<TensorType> type = resolve(spec, here);
    good = good && type;
    function.returns.push_back(type.value_or(TensorType{}));
  }
  // Literals take the type that the function wants where it says so.
  std::vector<Tensor> given;
  std::vector<std::optional<TensorType>> types;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    Operand operand = context->operand(inputs[i], here);
    if (operand.literal) {
      const std::optional<DType> wanted = i < callable.inputs.size() ? callable.inputs[i] : std::nullopt;
      operand = context->tracer().materialize(operand, SourceLocation::from(here), wanted);
    }
    given.push_back(context->tensor(std::move(operand)));
    types.push_back(TraceContext::type(given.back()));
  }
  if (const std::string why = mismatch(callable, function.returns, types); good && !why.empty()) {
    TraceContext::report(DiagnosticKind::type, here, "host function `" + name.name + "` " + why);
    good = false;
  }
  if (!good) return std::vector<Tensor>(results.size(), context->tensor({}));
  function.call = std::move(callable.call);
  Attributes attributes;
  attributes.set("function", std::make_shared<const HostFunction>(std::move(function)));
  return apply("host_call", given, std::move(attributes), here);
}

}  // namespace detail
}  // namespace cleave
