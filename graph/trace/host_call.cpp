#include "graph/trace/host_call.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <iterator>
#include <mutex>

#include "graph/base/exceptions.h"
#include "graph/base/spelling.h"
#include "graph/base/units.h"
#include "graph/call_limits.h"
#include "graph/trace/trace_context.h"
#include "graph/vocabulary.h"

namespace cleave {

/// State of one pending call. It owns the memory that the function works on, so that it outlives an abandoned wait.
struct HostTokenState {
  using Clock = std::chrono::steady_clock;
  std::vector<Array> inputs, results;
  const Clock::time_point begun = Clock::now();
  std::mutex mutex;
  std::condition_variable_any changed;
  std::optional<Status> outcome;
  Clock::time_point completed;

  void complete(Status status) {
    const std::lock_guard lock(mutex);
    if (!outcome) {
      outcome = std::move(status);
      completed = Clock::now();
    }
    changed.notify_all();
  }
  /// Sets the outcome: the call's result or an exceeded limit, whichever comes first; later ones are ignored.
  Status wait(const CallLimits& limits) {
    std::unique_lock lock(mutex);
    const auto is_over = [this] { return outcome.has_value(); };
    if (!limits.seconds) {
      changed.wait(lock, limits.stop, is_over);
    } else {
      // A clock's duration cannot represent every double.
      const std::chrono::duration<double> patience(std::min(*limits.seconds, 1e9));
      const auto deadline = begun + std::chrono::duration_cast<std::chrono::nanoseconds>(patience);
      changed.wait_until(lock, limits.stop, deadline, is_over);
      // A late waiter may find a call that completed after the limit. The function's own deadline is still enforced then, the waiter's
      // default limit is not.
      if (outcome && limits.declared && completed > deadline) outcome = late(limits);
    }
    if (!outcome) {
      outcome = limits.stop.stop_requested() ? Error{"the run was ended", {}, ErrorKind::machine} : late(limits);
      completed = Clock::now();
    }
    return *outcome;
  }
  static Error late(const CallLimits& limits) {
    const std::string limit = format_seconds(*limits.seconds);
    return {"the asynchronous host function did not complete its token within " +
                (limits.declared ? "its deadline of " + limit : limit + "; if it may take longer, give it a `deadline` of its own"),
            {},
            ErrorKind::machine};
  }
  static HostToken token(const std::shared_ptr<HostTokenState>& state) { return HostToken(state); }
};

HostToken::HostToken(std::shared_ptr<HostTokenState> state)
    : alive_(state.get(),
             [state](void*) {
               state->complete(detail::guard_memory([]() -> Status {
                 return Error{"the asynchronous host function dropped its token without completing it", {}, ErrorKind::user};
               }));
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
  return guard_user("the host function", std::forward<Call>(call));
}

Result<Array> copied(const Array& array) {
  Result<Array> copy = Array::allocate(array.type());
  if (copy && array.type().bytes() > 0) std::memcpy(copy->mutable_bytes(), array.bytes(), static_cast<std::size_t>(array.type().bytes()));
  return copy;
}

std::string ordinal(std::size_t i) {
  return "operand " + std::to_string(i + 1);
}

/// The reason why the callable does not fit the call, or an empty text.
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

HostCallable guarded(std::function<Status(HostInputs, HostResults)> f) {
  return {.call = [f = std::move(f)](HostInputs inputs, HostResults results, const CallLimits&) {
    return without_exceptions([&] { return f(inputs, results); });
  }};
}

namespace {

class CallWithToken final : public PendingCall {
 public:
  CallWithToken(std::shared_ptr<HostTokenState> state, Status started) : state_(std::move(state)), started_(std::move(started)) {}
  Status wait(HostResults results, const CallLimits& limits) override {
    // If the start failed, running work may still hold the token, so wait for its end, too.
    Status finished = state_->wait(limits);
    if (!started_) return started_;
    if (finished) std::move(state_->results.begin(), state_->results.end(), results.begin());
    return finished;
  }
  [[nodiscard]] std::chrono::steady_clock::time_point completed() const override {
    const std::lock_guard lock(state_->mutex);
    return state_->completed;
  }

 private:
  const std::shared_ptr<HostTokenState> state_;
  const Status started_;
};

}  // namespace

HostCallable guarded(std::function<Status(HostInputs, HostResults, HostToken)> f) {
  HostCallable callable;
  callable.begin = [f = std::move(f)](HostInputs inputs, HostResults results) -> Result<std::unique_ptr<PendingCall>> {
    auto state = std::make_shared<HostTokenState>();
    // Inputs may be views of memory that is reused once the run stops waiting, so copy them.
    for (const Array& input : inputs) {
      Result<Array> copy = copied(input);
      if (!copy) return copy.error();
      state->inputs.push_back(*std::move(copy));
    }
    std::move(results.begin(), results.end(), std::back_inserter(state->results));
    Status started = without_exceptions([&] { return f(state->inputs, state->results, HostTokenState::token(state)); });
    return std::unique_ptr<PendingCall>(std::make_unique<CallWithToken>(std::move(state), std::move(started)));
  };
  callable.call = [begin = callable.begin](HostInputs inputs, HostResults results, const CallLimits& limits) -> Status {
    const Result<std::unique_ptr<PendingCall>> pending = begin(inputs, results);
    return pending ? (*pending)->wait(results, limits) : Status(pending.error());
  };
  return callable;
}

namespace {

/// Records the gradient of a call, and replaces its results by those that the program goes on with.
void record_gradient(const HostName& name, const HostOptions& options, const std::vector<Tensor>& inputs, std::vector<Tensor>& results) {
  TraceContext& context = *TraceContext::current();
  const Here here = name.here.of("host_call");
  const auto operands = [&](const std::vector<Tensor>& tensors) {
    std::vector<Operand> found;
    for (const Tensor& tensor : tensors) found.push_back(context.operand(tensor, here));
    return found;
  };
  CustomGradient custom(context.tracer(), name.name, operands(inputs), operands(results), SourceLocation::from(here));
  std::vector<Tensor> given;
  for (Operand& operand : custom.given(options.gradient.reads)) given.push_back(context.tensor(std::move(operand)));
  const std::vector<TypeSpec> types(custom.wanted().begin(), custom.wanted().end());
  HostOptions own{.pure = options.pure, .seconds = options.gradient.seconds, .deadline = options.deadline};
  if (options.gradient.gradient) own.gradient = *options.gradient.gradient;
  custom.end(operands(record_host_call({name.name + "_gradient", name.here}, types, own, *options.gradient.callable, given)));
  for (std::size_t i = 0; i < results.size(); ++i) results[i] = context.tensor(custom.results()[i]);
}

}  // namespace

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
  function.deadline = options.deadline;
  bool good = true;
  if (options.deadline && !(*options.deadline > 0)) {
    TraceContext::report(DiagnosticKind::value, here,
                         "the `deadline` of host function `" + name.name + "` is no positive number of seconds");
    good = false;
  }
  for (const TypeSpec& spec : results) {
    std::optional<TensorType> type = resolve(spec, here);
    good = good && type;
    function.returns.push_back(type.value_or(TensorType{}));
  }
  // Literals take the parameter's type if the function declares one.
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
  function.fills_in_place = callable.fills_in_place;
  function.begin = std::move(callable.begin);
  Attributes attributes;
  attributes.set("function", std::make_shared<const HostFunction>(std::move(function)));
  std::vector<Tensor> recorded = apply(op::host_call, given, std::move(attributes), here);
  if (options.gradient.callable) record_gradient(name, options, given, recorded);
  return recorded;
}

Result<Graph> bind_host_function(Graph graph, std::string_view name, HostCallable callable) {
  std::vector<std::string> others;
  bool found = false;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    Node& node = graph.nodes[NodeId(i)];
    const HostFunction* declared = node.host_function();
    if (!declared) continue;
    if (declared->name != name) {
      if (std::find(others.begin(), others.end(), declared->name) == others.end()) others.push_back(declared->name);
      continue;
    }
    std::vector<std::optional<TensorType>> inputs;
    for (const ValueId input : node.inputs) inputs.emplace_back(graph.values[input].type);
    if (const std::string why = mismatch(callable, declared->returns, inputs); !why.empty())
      return Error{"host function `" + declared->name + "` " + why, node.location};
    auto bound = std::make_shared<HostFunction>(*declared);
    bound->call = callable.call;
    bound->fills_in_place = callable.fills_in_place;
    bound->begin = callable.begin;
    node.attributes.set("function", std::shared_ptr<const HostFunction>(std::move(bound)));
    found = true;
  }
  if (found) return graph;
  return Error{
      "the program calls no host function `" + std::string(name) + "`" + did_you_mean_or_has(name, others), {}, ErrorKind::unknown};
}

}  // namespace detail
}  // namespace cleave
