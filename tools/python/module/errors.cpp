#include "tools/python/module/errors.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include "graph/base/diagnostic_json.h"
#include "graph/base/diagnostic_text.h"
#include "graph/base/source_lines.h"
#include "tools/python/module/gil.h"

namespace cleave::python {
namespace {

std::string_view to_string(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::user: return "user";
    case ErrorKind::file: return "file";
    case ErrorKind::unknown: return "unknown";
    case ErrorKind::usage: return "usage";
    case ErrorKind::machine: break;
  }
  return "machine";
}

/// Removes line breaks at the end: Python's printers add their own.
std::string trimmed(std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

DiagnosticKind kind_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::machine: return DiagnosticKind::machine;
    case ErrorKind::file: return DiagnosticKind::file;
    case ErrorKind::unknown: return DiagnosticKind::unknown;
    case ErrorKind::user:
    case ErrorKind::usage: break;
  }
  return DiagnosticKind::value;
}

ErrorKind kind_of(DiagnosticKind kind) {
  if (kind == DiagnosticKind::machine) return ErrorKind::machine;
  if (kind == DiagnosticKind::file) return ErrorKind::file;
  return kind == DiagnosticKind::unknown ? ErrorKind::unknown : ErrorKind::user;
}

[[noreturn]] void raise(ErrorKind kind, const std::string& text, const Error& first, const nb::list& diagnostics) {
  const nb::object exception = nb::module_::import_("cleave._errors")
                                   .attr("make")(std::string(to_string(kind)), trimmed(text), first.message, first.location, diagnostics);
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.ptr())), exception.ptr());
  throw nb::python_error();
}

using Via = nb::typed<nb::list, nb::typed<nb::tuple, nb::str, SourceLocation>>;
Via via(const SourceLocation& location) {
  Via links;
  for (const SourceFrame* frame = location.via.get(); frame; frame = frame->location.via.get())
    links.append(nb::make_tuple(frame->label, frame->location));
  return links;
}

std::optional<std::string> file_of(const SourceLocation& location) {
  return location.file ? std::optional(*location.file) : std::nullopt;
}
std::optional<int> known(int number) {
  return number > 0 ? std::optional(number) : std::nullopt;
}

/// Binds the properties `file`, `line` and `column` of an object with a source location.
template <class T, class Place>
void bind_place(nb::class_<T>& bound, Place place) {
  bound.def_prop_ro(
      "file", [place](const T& of) { return file_of(place(of)); }, "The file, or None.");
  bound.def_prop_ro(
      "line", [place](const T& of) { return known(place(of).line); }, "The line, counted from 1, or None.");
  bound.def_prop_ro(
      "column", [place](const T& of) { return known(place(of).column); }, "The column in bytes, counted from 1, or None.");
}

/// Has lines of messages read by `function`, which returns the text of a source by its name, or None, where there is no such file.
void read_sources_by(nb::object function) {
  set_source_reader([reader = std::make_shared<SharedObject>(std::move(function))](const std::string& name) -> std::optional<std::string> {
    const Gil gil;
    if (!gil.held()) return std::nullopt;
    try {
      const nb::object text = reader->get()(name);
      return text.is_none() ? std::nullopt : std::optional(nb::cast<std::string>(text));
    } catch (const std::exception&) {  // a message without its line is better than none
      return std::nullopt;
    }
  });
}

}  // namespace

DiagnosticList to_list(const Diagnostics& diagnostics) {
  DiagnosticList result;
  for (const Diagnostic& diagnostic : diagnostics) result.append(nb::cast(diagnostic));
  return result;
}

void raise(const Error& error) {
  Diagnostics diagnostics;
  diagnostics.add({kind_of(error.kind), Severity::error, error.message, error.location, 0, {}});
  raise(error.kind, to_text(error), error, to_list(diagnostics));
}

void raise(const Diagnostics& diagnostics) {
  Diagnostics errors;
  for (const Diagnostic& diagnostic : diagnostics)
    if (diagnostic.severity == Severity::error) errors.add(diagnostic);
  if (errors.empty()) raise(Error{"the program cannot be planned", {}});
  const Diagnostic& first = *errors.begin();
  raise(kind_of(first.kind), to_text(errors), {first.message, first.location}, to_list(diagnostics));
}

void bind_errors(nb::module_& module) {
  nb::class_<SourceLocation> location(module, "Location", "Where something stands in a program.");
  bind_place(location, [](const SourceLocation& of) -> const SourceLocation& { return of; });
  location
      .def(
          "__init__",
          [](SourceLocation* self, std::string file, int line, int column, std::string_view label, const SourceLocation* caller) {
            auto* made = new (self) SourceLocation{std::make_shared<const std::string>(std::move(file)), line, column, nullptr};
            if (caller) made->via = std::make_shared<const SourceFrame>(SourceFrame{std::string(label), *caller});
          },
          nb::arg("file"), nb::arg("line"), nb::arg("column") = 0, nb::arg("label") = "", nb::arg("caller") = nb::none())
      .def_prop_ro("via", &via, "How the program got there: pairs of a scope's or function's name and the place that entered it.")
      .def("__str__", [](const SourceLocation& of) { return cleave::to_string(of); })
      .def("__repr__", [](const SourceLocation& of) { return "<" + cleave::to_string(of) + ">"; });

  nb::class_<Note> note(module, "Note", "What belongs to a diagnostic: another place, a number, advice.");
  bind_place(note, [](const Note& of) -> const SourceLocation& { return of.location; });
  note.def_ro("message", &Note::message, "The words, without a place.")
      .def_ro("location", &Note::location, "The place.")
      .def("__repr__", [](const Note& of) { return "<note: " + of.message + ">"; });

  nb::class_<Diagnostic> diagnostic(module, "Diagnostic", "One message about a program. `str()` is the text that the command line prints.");
  bind_place(diagnostic, [](const Diagnostic& of) -> const SourceLocation& { return of.location; });
  diagnostic
      .def_prop_ro(
          "kind", [](const Diagnostic& of) { return info(of.kind).name; }, "Its kind, as in docs/diagnostics.md: \"round-trip\".")
      .def_prop_ro(
          "severity", [](const Diagnostic& of) { return cleave::to_string(of.severity); },
          "\"error\", \"warning\", \"remark\" or \"allowed\".")
      .def_ro("message", &Diagnostic::message, "The words, without a place.")
      .def_ro("location", &Diagnostic::location, "The place.")
      .def_prop_ro(
          "notes",
          [](const Diagnostic& of) {
            nb::typed<nb::list, Note> notes;
            for (const Note& each : of.notes) notes.append(nb::cast(each));
            return notes;
          },
          "A list of Note.")
      .def("__str__", [](const Diagnostic& of) { return trimmed(to_text(of)); })
      .def(
          "_repr_html_", [](nb::handle of) { return nb::cast<std::string>(nb::module_::import_("cleave._html").attr("diagnostic")(of)); },
          "The text for a notebook.")
      .def("__repr__", [](const Diagnostic& of) {
        return "<" + std::string(cleave::to_string(of.severity)) + " [" + std::string(info(of.kind).name) + "] " +
               (of.location.known() ? cleave::to_string(of.location) + ": " : "") + of.message + ">";
      });

  module.def("read_sources_by", &read_sources_by, nb::arg("function"));
  module.def("diagnostic_kinds", [] {
    nb::typed<nb::list, nb::str> names;
    for (const DiagnosticKindInfo& each : diagnostic_kinds()) names.append(std::string(each.name));
    return names;
  });
}

}  // namespace cleave::python
