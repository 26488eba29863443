// Binds Program: reading, inspecting, saving and planning.
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "executor/api/wiring.h"
#include "executor/arguments/saved_states.h"
#include "graph/base/exceptions.h"
#include "graph/lengths.h"
#include "graph/passes/seed.h"
#include "graph/statement_paths.h"
#include "graph/states.h"
#include "graph/text/text.h"
#include "models/fixes.h"
#include "models/model.h"
#include "models/onnx/onnx_function.h"
#include "models/reader/model_file.h"
#include "partitioner/report/explain.h"
#include "partitioner/report/page/page.h"
#include "partitioner/report/page/picture_markup.h"
#include "tools/cli/graphviz.h"
#include "tools/python/module/arrays.h"
#include "tools/python/module/errors.h"
#include "tools/python/module/gil.h"
#include "tools/python/module/host_functions.h"
#include "tools/python/module/module.h"
#include "tools/python/module/options.h"

namespace cleave::python {
namespace {

using Dims = std::map<std::string, std::int64_t>;

Graph read_graph_file(const std::string& path, const Dims& dims) {
  Result<Graph> loaded = Graph::load(path);
  if (!loaded) raise(loaded.error());
  if (!dims.empty()) raise(Error{"a graph file has no symbolic dimensions; `dims` needs a model", {}, ErrorKind::usage});
  return *std::move(loaded);
}

using Shapes = std::map<std::string, std::vector<std::optional<std::int64_t>>>;

/// Converts the keyword arguments of `load` to options of read_model().
ModelOptions model_options(const AnyDict& given) {
  ModelOptions options;
  for (auto [key, value] : given) {
    const auto name = nb::cast<std::string>(key);
    if (name == "dims") options.dims = nb::cast<Dims>(value);
    if (name == "shapes") options.shapes = nb::cast<Shapes>(value);
    if (name == "input_shapes") options.input_shapes = nb::cast<std::map<std::string, Shape>>(value);
    if (name == "parameters") options.parameters = nb::cast<std::vector<std::string>>(value);
    if (name == "assume_host")
      for (const auto& op : nb::cast<std::vector<std::string>>(value)) options.assume_host.insert(op);
    if (name == "host_functions")
      for (auto [op, bind] : nb::cast<nb::dict>(value))
        options.host_functions.emplace(nb::cast<std::string>(op), operator_function(nb::borrow(bind)));
    if (name == "pins" && nb::cast<std::string>(value) == "kernels") options.pins = OrtPins::kernels;
    if (name == "pins" && nb::cast<std::string>(value) == "placement") options.pins = OrtPins::placement;
    if (name == "onnxruntime") options.onnxruntime = nb::cast<std::string>(value) == "1.23" ? OrtVersion::v1_23 : OrtVersion::v1_31;
    if (name == "bounds") options.bounds = nb::cast<Dims>(value);
    if (name != "constants") continue;
    for (auto [input, constant] : nb::cast<nb::dict>(value)) {
      const auto input_name = nb::cast<std::string>(input);
      if (nb::isinstance<nb::str>(constant))
        options.constants.emplace(input_name, nb::cast<std::string>(constant));
      else
        options.constants.emplace(input_name, to_array(constant));
    }
  }
  return options;
}

Program read(const std::string& path, const AnyDict& given, std::int64_t seed) {
  const ModelOptions options = model_options(given);
  Graph graph = path.ends_with(".graph") ? read_graph_file(path, options.dims) : without_gil([&] { return read_model(path, options); });
  if (!graph.ok()) raise(graph.diagnostics);
  return Program(seed == 0 ? std::move(graph) : add_seed(graph, seed), is_yaml_model(path) ? path : std::string());
}

Program parse(const std::string& text, const std::string& file, const Dims& dims) {
  Graph graph = without_gil([&] { return parse_model(text, file, {.dims = dims}); });
  if (!graph.ok()) raise(graph.diagnostics);
  return Program(std::move(graph));
}

std::vector<std::pair<std::string, std::string>> inputs_of(const std::string& path, const std::optional<std::string>& text) {
  std::vector<std::pair<std::string, std::string>> result;
  for (DeclaredInput& input : text ? models::yaml_inputs_of(*text, path) : declared_inputs(path))
    result.emplace_back(std::move(input.name), std::move(input.type));
  return result;
}

bool has_default(const Node& node) {
  return node.kind == NodeKind::parameter || node.attributes.find("file") != nullptr || node.attributes.find("value") != nullptr;
}

/// The name, the type as text, and whether a run may omit it.
using Leaves = nb::typed<nb::list, nb::typed<nb::tuple, nb::str, nb::str, bool>>;
Leaves leaves(const Program& program, NodeKind kind) {
  Leaves result;
  for (const Node& node : program.graph->nodes) {
    if (node.kind != kind) continue;
    const Value& value = program.graph->values[node.results[0]];
    result.append(nb::make_tuple(value.name, to_string(value.type), has_default(node)));
  }
  return result;
}

using Outputs = nb::typed<nb::list, nb::typed<nb::tuple, nb::str, nb::str>>;
Outputs outputs(const Program& program) {
  Outputs result;
  const std::vector<bool> count = count_outputs(*program.graph);
  for (std::size_t i = 0; i < count.size(); ++i) {
    const Output& output = program.graph->outputs[i];
    if (!count[i]) result.append(nb::make_tuple(output.name, to_string(program.graph->values[output.value].type)));
  }
  return result;
}

/// The program with inputs that take outputs of the previous run, by their names.
Program with_states(const Program& program, const std::map<std::string, std::string>& states) {
  Graph graph = *program.graph;
  for (const auto& [input, output] : states) check(keep_state(graph, input, output));
  return Program(std::move(graph));
}

/// States, the other values with which a run goes on, and its position (trip, step, seconds) or None. `others`: names of states that the
/// program itself does not keep.
nb::object load_states(const Program& program, const std::string& path, const std::vector<std::string>& others) {
  runtime::LoadedStates loaded = value_or_raise(runtime::load_states(*program.graph, path, others));
  nb::dict states, rest;
  const std::map<std::string, Array> inputs = loaded.inputs();
  for (const auto& [name, array] : inputs) (loaded.states.contains(name) ? states : rest)[name.c_str()] = to_numpy(array, true);
  nb::object position = nb::none();
  if (loaded.position) position = nb::make_tuple(loaded.position->trip, loaded.position->step, loaded.position->seconds);
  return nb::make_tuple(states, rest, position);
}

std::shared_ptr<Plan> make_plan(const Program& program, nb::handle options) {
  const CompileOptions chosen = compile_options(options);
  Result<Plan> plan = without_gil([&]() -> Result<Plan> {
    return detail::guard_memory([&]() -> Result<Plan> {
      const Result<runtime::Wiring> wiring = runtime::wire(chosen);
      if (!wiring) return wiring.error();
      Plan made = planner::plan(*program.graph, wiring->plan);
      if (!program.file.empty()) made.fixes = find_model_fixes(made.advice, program.file);
      return made;
    });
  });
  if (!plan) raise(plan.error());
  if (!plan->complete()) raise(plan->diagnostics);
  return std::make_shared<Plan>(*std::move(plan));
}

constexpr double kLayoutPatience = 5;  ///< seconds that Graphviz has in a notebook

/// The picture as an SVG element. `layout`: "graphviz", "own", or "auto", which is Graphviz's if it is there and shows as much within the
/// patience.
std::string svg(const Plan& plan, bool full, const std::string& layout) {
  const planner::PictureOptions options{.full = full};
  if (layout != "auto" && layout != "graphviz" && layout != "own")
    raise(Error{"no layout `" + layout + "`; there are auto, graphviz and own", {}, ErrorKind::usage});
  const bool required = layout == "graphviz";
  if (layout != "own") {
    const double seconds = required ? cli::kLayoutSeconds : kLayoutPatience;
    const Result<cli::Drawing> drawing = without_gil([&] { return cli::draw_by_graphviz(plan, options, "svg", seconds); });
    if (required && !drawing) raise(drawing.error());
    if (drawing && (required || drawing->remark.empty()))
      if (const std::string element = planner::picture_element(drawing->bytes); !element.empty()) return element + "\n";
  }
  return without_gil([&] { return planner::svg(plan, options); });
}

std::string html(const Plan& plan) {
  return planner::html_page(plan, {{svg(plan, false, "auto"), ""}, {}});
}

std::string sarif(const Plan& plan) {
  const StatementPaths paths(*plan.graph);
  return to_sarif(
      plan.diagnostics, [&](const SourceLocation& place) { return paths.of(place); }, plan.fixes);
}

}  // namespace

void bind_program(nb::module_& module) {
  nb::class_<models::OnnxFunction>(module, "OnnxFunction", "An ONNX file that a traced function calls.")
      .def_static(
          "open",
          [](const std::string& path, const AnyDict& options) {
            return value_or_raise(models::OnnxFunction::open(path, model_options(options)));
          },
          nb::arg("path"), nb::arg("options"))
      .def_prop_ro("inputs",
                   [](const models::OnnxFunction& function) {
                     std::vector<std::string> names;
                     for (const models::OnnxFunction::Argument& each : function.takes()) names.push_back(each.name);
                     return names;
                   })
      .def_prop_ro("weights", [](const models::OnnxFunction& function) {
        std::vector<std::pair<std::string, std::string>> weights;
        for (const auto& [name, type] : function.weights()) weights.emplace_back(name, to_string(type));
        return weights;
      });
  nb::class_<Program>(module, "Program", "A program that was read or traced.")
      .def_static("read", &read, nb::arg("path"), nb::arg("options"), nb::arg("seed") = 0)
      .def_static("parse", &parse, nb::arg("text"), nb::arg("file"), nb::arg("dims"))
      .def_prop_ro("name", [](const Program& program) { return program.graph->name; })
      .def_prop_ro("inputs", [](const Program& program) { return leaves(program, NodeKind::input); })
      .def_prop_ro("parameters", [](const Program& program) { return leaves(program, NodeKind::parameter); })
      .def_prop_ro("outputs", &outputs)
      .def_prop_ro("diagnostics", [](const Program& program) { return to_list(program.graph->diagnostics); })
      .def("raise_errors",
           [](const Program& program) {
             if (!program.graph->ok()) raise(program.graph->diagnostics);
           })
      .def("save", [](const Program& program, const std::string& path) { check(program.graph->save(path)); })
      .def("text", [](const Program& program) { return print(*program.graph, {.locations = false, .comment = nullptr}); })
      .def("with_states", &with_states, nb::arg("states"))
      .def_prop_ro("states",
                   [](const Program& program) {
                     std::vector<std::string> names;
                     for (const GraphState& state : states_of(*program.graph)) names.push_back(program.graph->values[state.value].name);
                     return names;
                   })
      .def("load_states", &load_states, nb::arg("path"), nb::arg("others"),
           nb::sig("def load_states(self, path: str, others: list[str]) -> tuple[dict[str, typing.Any], dict[str, typing.Any], "
                   "tuple[int, int, float] | None]"))
      .def("plan", &make_plan);
  module.def(
      "write_states",
      [](const std::string& path, const std::string& model, const nb::dict& arrays) {
        std::vector<std::pair<std::string, Array>> values;
        for (auto [name, value] : arrays) values.emplace_back(nb::cast<std::string>(name), to_array(value));
        check(runtime::write_states(path, model, std::move(values)));
      },
      nb::arg("path"), nb::arg("model"), nb::arg("arrays"),
      nb::sig("def write_states(path: str, model: str, arrays: dict[str, typing.Any]) -> None"));

  module.def("declared_inputs", &inputs_of, nb::arg("path"), nb::arg("text").none(), "Names and types of inputs, as they are written.");

  nb::class_<Plan>(module, "RawPlan", "Everything that was decided about a program.")
      .def("explain", [](const Plan& plan) { return planner::explain_text(plan); })
      .def("explain_all", [](const Plan& plan) { return planner::explain_text(plan, static_cast<std::size_t>(-1)); })
      .def("json", [](const Plan& plan) { return planner::explain_json(plan); })
      .def("dot", [](const Plan& plan, bool full) { return planner::dot(plan, {.full = full}); })
      .def("svg", &svg, nb::arg("full"), nb::arg("layout"))
      .def("html", &html)
      .def("sarif", &sarif)
      .def("summary", [](const Plan& plan) { return planner::summary_line(plan); })
      .def("text", [](const Plan& plan) { return planner::placed_text(*plan.graph, plan.placement); })
      .def_prop_ro("diagnostics", [](const Plan& plan) { return to_list(plan.diagnostics); })
      .def_ro("predicted_seconds", &Plan::predicted_seconds)
      .def_ro("all_host_seconds", &Plan::all_host_predicted_seconds)
      .def_ro("all_accelerator_seconds", &Plan::all_accelerator_predicted_seconds)
      .def_prop_ro("machine", [](const Plan& plan) { return plan.machine.name; });
}

}  // namespace cleave::python
