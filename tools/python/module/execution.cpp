// Compiled programs and their runs. Waiting here releases the interpreter's lock, so that other Python threads continue.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <mutex>
#include <stdexcept>

#include "executor/api/back_ends.h"
#include "executor/api/executable.h"
#include "executor/arguments/saved_states.h"
#include "executor/report/event_file.h"
#include "executor/report/log_csv.h"
#include "executor/report/timeline.h"
#include "graph/base/forks.h"
#include "graph/base/units.h"
#include "graph/metrics.h"
#include "graph/shared_constants.h"
#include "graph/states.h"
#include "tools/python/module/arrays.h"
#include "tools/python/module/errors.h"
#include "tools/python/module/gil.h"
#include "tools/python/module/host_functions.h"
#include "tools/python/module/interrupt.h"
#include "tools/python/module/module.h"
#include "tools/python/module/options.h"

namespace cleave::python {
namespace {

/// Prints a line of a program's `print` to Python's sys.stdout.
void print_line(std::string_view line) {
  const Gil gil;
  if (!gil.held()) return;
  try {
    const nb::object out = nb::module_::import_("sys").attr("stdout");
    if (!out.is_none()) out.attr("write")(nb::str((std::string(line) + "\n").c_str()));
  } catch (nb::python_error& raised) {
    raised.discard_as_unraisable("cleave: print");
  }
}

/// Raises the exception of a host function if there is one, KeyboardInterrupt as itself; else the Error.
[[noreturn]] void raise_from_run(const Error& error, bool interrupted = false) {
  nb::object cause = interrupted ? take_interrupt() : take_exception(error.message);
  if (cause.is_none()) raise(error);
  if (PyErr_GivenExceptionMatches(cause.ptr(), PyExc_KeyboardInterrupt) != 0) {
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(cause.ptr())), cause.ptr());
    throw nb::python_error();
  }
  try {
    raise(error);
  } catch (nb::python_error& raised) {
    nb::object exception = nb::borrow(raised.value());
    PyException_SetCause(exception.ptr(), cause.release().ptr());
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.ptr())), exception.ptr());
  }
  throw nb::python_error();
}

void check_signals() {
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

/// Owns an object whose destruction takes long; destroys it without the interpreter's lock, which threads that it joins may need.
template <class T>
class Released {
 public:
  explicit Released(T value) : value_(std::make_unique<T>(std::move(value))) {}
  Released(Released&&) noexcept = default;
  ~Released() {
    if (!value_) return;
    if (holds_gil())
      without_gil([this] { value_.reset(); });
    else
      value_.reset();
  }
  T& operator*() const { return *value_; }
  T* operator->() const { return value_.get(); }

 private:
  std::unique_ptr<T> value_;
};

/// Where the numbers go that a run logs: a Python function, a CSV file, a folder of event files.
class Log {
 public:
  /// From a dict with `log`, `csv`, `tensorboard`; nothing if it names none of them.
  static std::shared_ptr<Log> create(const nb::dict& wanted, const Graph& graph, const std::optional<SavedPosition>& position) {
    const std::optional<std::int64_t> from = position ? std::optional(position->step) : std::nullopt;
    auto log = std::make_shared<Log>();
    if (wanted.contains("csv"))
      log->csv_.emplace(value_or_raise(LogCsv::create(nb::cast<std::string>(wanted["csv"]), logged_labels(graph), from)));
    if (wanted.contains("tensorboard"))
      log->events_.emplace(value_or_raise(EventFile::create(nb::cast<std::string>(wanted["tensorboard"]), from)));
    if (wanted.contains("log")) log->function_.emplace(nb::object(wanted["log"]));
    return log->csv_ || log->events_ || log->function_ ? log : nullptr;
  }

  /// An exception becomes the Error of the run.
  void add(const LoggedStep& step) {
    if (Status written = csv_ ? csv_->add(step) : Status(); !written) throw std::runtime_error(written.error().message);
    if (Status written = events_ ? events_->add(step) : Status(); !written) throw std::runtime_error(written.error().message);
    if (function_) call(step);
  }

 private:
  void call(const LoggedStep& step) {
    const Gil gil;
    if (!gil.held()) return;
    try {
      nb::dict values;
      for (const auto& [label, value] : step.values) {
        const nb::str name(label.data(), label.size());
        values[name] = is_floating(value.dtype()) ? nb::object(nb::float_(value.at(0))) : to_numpy_copy(value).attr("item")();
      }
      function_->get()(step.step, values);
    } catch (nb::python_error& raised) {
      throw std::runtime_error(keep_exception(raised, "`log`"));
    }
  }

  std::optional<LogCsv> csv_;
  std::optional<EventFile> events_;
  std::optional<SharedObject> function_;
};

/// Whether an output is a part of the caller's array, as its size depends on data.
bool is_cut(const Array& array, nb::handle given) {
  return to_writable_array(given).size() != array.size();
}

/// The results of a run as cleave.Results, a dict with more attributes. `out`: arrays of the caller that were written.
nb::object to_results(std::vector<std::pair<std::string, Array>> outputs, bool writable, double seconds, double simulated_seconds,
                      nb::handle out = nb::none()) {
  static PyObject* const type = nb::object(nb::module_::import_("cleave._run").attr("Results")).release().ptr();
  nb::object results = nb::handle(type)();
  for (auto& [name, array] : outputs) {
    const nb::object key = nb::cast(name);
    PyObject* const given = out.is_none() ? nullptr : PyDict_GetItem(out.ptr(), key.ptr());
    const nb::object value = given && !is_cut(array, given) ? nb::borrow(given) : to_numpy(std::move(array), writable);
    if (PyDict_SetItem(results.ptr(), key.ptr(), value.ptr()) != 0) throw nb::python_error();
  }
  results.attr("seconds") = seconds;
  results.attr("simulated_seconds") = simulated_seconds;
  return results;
}

/// Runs whose handle was released before they ended: they continue, and only the end of Python waits for them.
class Orphans {
 public:
  void adopt(std::unique_ptr<Run> run) {
    const std::lock_guard lock(mutex_);
    std::erase_if(runs_, [](const auto& other) { return other->ready(); });
    runs_.push_back(std::move(run));
  }
  void end() {
    const std::lock_guard lock(mutex_);
    for (const auto& run : runs_) run->cancel();
    runs_.clear();
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Run>> runs_;
};

Orphans& orphans() {
  static auto* const forever = new PerProcess<Orphans>;  // never destroyed: Python has ended by then
  return **forever;
}

class PythonRun {
 public:
  explicit PythonRun(Run run) : run_(std::make_unique<Run>(std::move(run))) {}
  PythonRun(PythonRun&&) = default;
  ~PythonRun() {
    if (!run_) return;
    without_gil([this] {
      if (run_->ready())
        run_.reset();
      else
        orphans().adopt(std::move(run_));
    });
  }

  [[nodiscard]] bool ready() const { return run_->ready(); }
  bool wait(std::optional<double> timeout) const {
    return patiently(timeout, [this](auto deadline) { return run_->wait_until(deadline); });
  }
  void cancel() const {
    without_gil([this] { run_->cancel(); });
  }
  nb::object get(const std::string& name, std::optional<double> timeout) const {
    std::optional<Result<Array>> array;
    const bool there = patiently(timeout, [&](auto deadline) {
      array = run_->get_until(name, deadline);
      return array.has_value();
    });
    if (!there) {
      PyErr_SetString(PyExc_TimeoutError, ("output `" + name + "` is not there yet").c_str());
      throw nb::python_error();
    }
    if (!*array) raise_from_run(array->error());
    return to_numpy(**std::move(array), false);
  }
  /// The results of the run; waits until it has ended.
  nb::object results() const {
    wait(std::nullopt);
    const Result<RunResult>& result = without_gil([this]() -> const Result<RunResult>& { return run_->wait(); });
    if (!result) raise_from_run(result.error());
    if (result->diagnostics.has_errors()) raise(result->diagnostics);
    return to_results(result->outputs, false, result->seconds, result->simulated_seconds);
  }

 private:
  using Clock = std::chrono::steady_clock;

  /// Waits in slices, and handles signals between them.
  template <class Wait>
  static bool patiently(std::optional<double> timeout, Wait&& wait) {
    constexpr double kLongest = 1e9;
    const std::chrono::duration<double> patience(std::clamp(timeout.value_or(kLongest), 0.0, kLongest));
    const auto deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(patience);
    for (;;) {
      const auto slice = std::min(deadline, Clock::now() + std::chrono::milliseconds(50));
      if (without_gil([&] { return wait(slice); })) return true;
      check_signals();
      if (Clock::now() >= deadline) return false;
    }
  }

  std::unique_ptr<Run> run_;
};

class PythonExecutable {
 public:
  PythonExecutable(Executable executable, bool simulated) : executable_(std::move(executable)) {
    const auto& devices = executable_->plan().program.devices;
    for (std::size_t d = 1; d < devices.size() && simulated; ++d) {
      const std::vector<planner::Block>& blocks = devices[DeviceId(d)].blocks;
      simulates_ = simulates_ || (!blocks.empty() && !blocks[0].steps.empty());
    }
    const Graph& graph = *executable_->plan().graph;
    for (const Node& node : graph.nodes)
      if (node.kind == NodeKind::input || node.kind == NodeKind::parameter) {
        const Value& value = graph.values[node.results[0]];
        types_.emplace(value.name, value.type);
        if (is_state(node)) states_.emplace_back(value.name, to_string(value.type));
      }
  }

  /// Returns None if the inputs have other types than those that this was compiled for.
  nb::object run(nb::handle inputs, nb::handle out, nb::handle more) const {
    RunOptions options = options_for(inputs, out);
    if (!fits(options)) return nb::none();
    add(more, options);
    const std::unique_ptr<ChromeTrace> trace = begin_trace(more, options);
    const StopOnInterrupt interrupt;
    options.stop = interrupt.token();
    Result<RunResult> result = without_gil([&] {
      Result<RunResult> ran = executable_->run(options);
      options.inputs.clear();
      return ran;
    });
    // The timeline of a run that fails ends there; that error comes first.
    if (const Status written = trace ? trace->finish(simulates_) : Status(); result) check(written);
    if (!result) {
      if (options.stop.stop_requested()) check_signals();
      raise_from_run(result.error(), options.stop.stop_requested());
    }
    if (result->diagnostics.has_errors()) raise(result->diagnostics);
    return to_results(std::move(result->outputs), true, result->seconds, result->simulated_seconds, out);
  }
  std::unique_ptr<PythonRun> submit(nb::handle inputs, nb::handle more) const {
    RunOptions options = options_for(inputs, nb::none());
    if (!fits(options)) return nullptr;
    add(more, options);
    return std::make_unique<PythonRun>(without_gil([&] { return executable_->submit(std::move(options)); }));
  }
  /// The seconds of the fastest run, called from C++, for comparison.
  [[nodiscard]] double shortest_run(nb::handle inputs, int count) const {
    const std::map<std::string, Array> arrays = to_arrays(inputs, types_);
    return without_gil([&] {
      std::chrono::duration<double> shortest(1e9);
      for (int i = 0; i < count; ++i) {
        const auto begin = std::chrono::steady_clock::now();
        for (int repeated = 0; repeated < 100; ++repeated) (void)executable_->run(arrays);
        shortest = std::min(shortest, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin) / 100);
      }
      return shortest.count();
    });
  }
  /// Whether part of the program runs on the simulated accelerator.
  [[nodiscard]] const Graph* graph() const { return executable_->plan().graph.get(); }
  [[nodiscard]] std::int64_t memory_bytes() const { return executable_->memory_bytes(); }
  [[nodiscard]] bool simulates() const { return simulates_; }
  [[nodiscard]] DiagnosticList diagnostics() const { return to_list(executable_->diagnostics()); }
  /// The inputs and parameters that are states, with their types.
  [[nodiscard]] const std::vector<std::pair<std::string, std::string>>& states() const { return states_; }
  [[nodiscard]] nb::object state(const std::string& name) const {
    return to_numpy(value_or_raise(without_gil([&] { return executable_->state(name); })), true);
  }
  void reset_states() const {
    check(without_gil([&] { return executable_->reset_states(); }));
  }

 private:
  /// Adds what `more`, a dict or None, says: where logged numbers go, `stop_on_nan`, and the `position` where the run goes on.
  void add(nb::handle more, RunOptions& options) const {
    if (more.is_none()) return;
    const auto wanted = nb::cast<nb::dict>(more);
    options.stop_on_nan = wanted.contains("stop_on_nan") && nb::cast<bool>(wanted["stop_on_nan"]);
    if (wanted.contains("position")) {
      const auto [trip, step, seconds] = nb::cast<std::tuple<std::int64_t, std::int64_t, double>>(wanted["position"]);
      options.position = SavedPosition{trip, step, seconds};
      check(runtime::check_carried(*executable_->plan().graph, options.inputs, "the loaded states"));
    }
    if (std::shared_ptr<Log> log = Log::create(wanted, *executable_->plan().graph, options.position))
      options.on_log = [log = std::move(log)](const LoggedStep& step) { log->add(step); };
  }
  /// Begins the file of the run's timeline, if `more` names one.
  std::unique_ptr<ChromeTrace> begin_trace(nb::handle more, RunOptions& options) const {
    if (more.is_none() || !nb::cast<nb::dict>(more).contains("trace")) return nullptr;
    const auto path = nb::cast<std::string>(nb::cast<nb::dict>(more)["trace"]);
    auto trace = std::make_unique<ChromeTrace>(value_or_raise(ChromeTrace::create(path, *graph())));
    options.on_timeline = [to = trace.get()](std::span<const TimelineEvent> events) { to->add(events); };
    return trace;
  }
  [[nodiscard]] RunOptions options_for(nb::handle inputs, nb::handle out) const {
    RunOptions options;
    options.inputs = to_arrays(inputs, types_);
    options.print = print_line;
    if (!out.is_none() && !PyDict_Check(out.ptr())) throw nb::type_error("`out` has arrays by the names of outputs: out={\"y\": y}");
    if (!out.is_none())
      for (auto [key, value] : nb::cast<nb::dict>(out)) options.results.emplace(nb::cast<std::string>(key), to_writable_array(value));
    return options;
  }
  [[nodiscard]] bool fits(const RunOptions& options) const {
    return std::all_of(options.inputs.begin(), options.inputs.end(), [this](const auto& input) {
      const auto known = types_.find(input.first);
      return known == types_.end() || known->second == input.second.type();
    });
  }

  Released<Executable> executable_;
  bool simulates_ = false;
  std::map<std::string, TensorType> types_;
  std::vector<std::pair<std::string, std::string>> states_;
};

/// The arrays that the programs of a model have in common.
class PythonConstants {
 public:
  /// Gives the program these arrays, which are in use as long as it exists.
  void share(Program& program) const {
    const nb::gil_scoped_release release;
    Graph graph = *program.graph;
    constants_->share(graph);
    program.graph = std::make_shared<const Graph>(std::move(graph));
    constants_->use(program.graph);
  }
  /// Bytes of programs and of what was compiled from them: arrays and what kernels derive from them once, and the arenas of each.
  [[nodiscard]] std::int64_t bytes(const std::vector<const PythonExecutable*>& executables,
                                   const std::vector<const Program*>& programs) const {
    std::vector<const Graph*> graphs;
    std::int64_t bytes = constants_->derived_bytes();
    for (const PythonExecutable* each : executables) {
      graphs.push_back(each->graph());
      bytes += each->memory_bytes();
    }
    for (const Program* each : programs) graphs.push_back(each->graph.get());
    return bytes + constant_bytes(graphs);
  }
  [[nodiscard]] const std::shared_ptr<SharedConstants>& get() const { return constants_; }

 private:
  std::shared_ptr<SharedConstants> constants_ = std::make_shared<SharedConstants>();
};

PythonExecutable* compile_program(const Program& program, nb::handle options, const PythonConstants& shared) {
  CompileOptions chosen = compile_options(options);
  chosen.constants = shared.get();
  Diagnostics diagnostics;
  Result<Executable> executable =
      without_gil([&] { return compile(*program.graph, chosen, [&](const Diagnostic& diagnostic) { diagnostics.add(diagnostic); }); });
  if (executable) {
    const Result<runtime::ExecutorSetup> setup = runtime::choose_device(chosen.device, chosen.executor);
    return new PythonExecutable(*std::move(executable), setup && setup->back_end.simulates);
  }
  if (diagnostics.has_errors()) raise(diagnostics);
  raise(executable.error());
}

}  // namespace

void bind_execution(nb::module_& module) {
  nb::class_<PythonRun>(module, "RawRun", "A run under way.")
      .def_prop_ro("ready", &PythonRun::ready)
      .def("wait", &PythonRun::wait, nb::arg("timeout").none())
      .def("cancel", &PythonRun::cancel)
      .def("get", &PythonRun::get, nb::arg("name"), nb::arg("timeout").none())
      .def("results", &PythonRun::results, nb::sig("def results(self) -> typing.Any"));
  module.def("end_runs", [] { without_gil([] { orphans().end(); }); });
  nb::class_<PythonExecutable>(module, "Executable", "A program made ready to run.")
      .def("run", &PythonExecutable::run, nb::arg("inputs"), nb::arg("out").none(), nb::arg("more").none() = nb::none(),
           nb::sig("def run(self, inputs: object, out: object | None, more: dict[str, typing.Any] | None = None) -> typing.Any"))
      .def("submit", &PythonExecutable::submit, nb::arg("inputs"), nb::arg("more").none() = nb::none(),
           nb::sig("def submit(self, inputs: object, more: dict[str, typing.Any] | None = None) -> RawRun | None"))
      .def("shortest_run", &PythonExecutable::shortest_run, nb::arg("inputs"), nb::arg("count"))
      .def_prop_ro("simulates", &PythonExecutable::simulates)
      .def_prop_ro("states", &PythonExecutable::states)
      .def("state", &PythonExecutable::state, nb::arg("name"), nb::sig("def state(self, name: str) -> typing.Any"))
      .def("reset_states", &PythonExecutable::reset_states)
      .def_prop_ro("diagnostics", &PythonExecutable::diagnostics);
  module.def(
      "has_gpu",
      [] {
        const Result<runtime::ExecutorSetup> found = without_gil([] { return runtime::choose_device("auto"); });
        return found && !found->back_end.simulates && found->back_end.open;
      },
      "Whether a GPU can be used: `device=\"auto\"` is then that GPU.");
  module.def("compile", &compile_program, nb::rv_policy::take_ownership, nb::arg("program"), nb::arg("options"), nb::arg("shared"));
  nb::class_<PythonConstants>(module, "SharedConstants", "The arrays that the programs of a model have in common.")
      .def(nb::init<>())
      .def("share", &PythonConstants::share, nb::arg("program"))
      .def("bytes", &PythonConstants::bytes, nb::arg("executables"), nb::arg("programs"));
  module.def(
      "parse_bytes",
      [](const std::string& text) {
        const Result<double> bytes = parse_bytes(text);
        if (!bytes) raise(Error{bytes.error().message, {}, ErrorKind::usage});
        return *bytes;
      },
      nb::arg("text"));
}

}  // namespace cleave::python
