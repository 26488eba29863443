"""The Python reference: the public names of the package (tools/python/cleave) with their docstrings.

The sources are parsed and not imported, so that no extension module is needed. The few classes of that module are read from its bindings
(tools/python/module/errors.cpp).
"""
import ast
import inspect
import os
import re

from markdown import fenced, prose

TITLE = """# The Python package, name by name

For users of the Python package. Written by `tools/reference/write` from the docstrings of the package; a test keeps it
up to date. [The guide](../guide/python.md) shows how the parts are used together. The functions that a traced program
calls (`cleave.matmul`, `cleave.relu`, …) are listed in [ops.md](../ops.md): each has the name and the parameters that
stand there, and is a method of `Tensor`, too, where NumPy's arrays have one of that name.
"""

#: The parts of the page: heading, and the names below it in their order. A public name that is missing here is an error.
PARTS = [
    ("Load a program", ["load", "parse"]),
    ("Extract a plain function", ["program", "host", "unrolled"]),
    ("Trace a function", ["trace", "parameter", "constant", "named", "scope", "place", "recompute", "allow", "for_loop", "batches",
                          "while_loop", "until", "cond", "host_function", "host_call", "log"]),
    ("Gradients", ["gradient", "value_and_gradient", "stop_gradient", "custom_gradient"]),
    ("Models, plans and runs", ["Model", "Network", "TracedModel", "ProgramModel", "Plan", "Run", "Results", "Progress"]),
    ("Values and types", ["Tensor", "Type", "Until", "Batches", "HostMark"]),
    ("Messages", ["Diagnostic", "Diagnostics", "Note", "Location", "PlacementWarning"]),
    ("Errors", ["Error", "UserError", "FileError", "UnknownNameError", "Cancelled", "UsageError", "MachineError"]),
]
#: Public names that are no functions or classes of the package itself.
ELSEWHERE = {"__array_namespace_info__", "__version__", "fft", "functions", "linalg", "optim", "random"}
#: Modules with their functions below a heading: heading, file, what stands before a name.
MODULES = [
    ("Names of NumPy: shapes", "_shapes", ""), ("Names of NumPy: elements, sums and products", "_elementary", ""),
    ("Names of NumPy: statistics", "_statistics", ""), ("Element types", "_namespace", ""), ("Linear algebra", "linalg", "linalg."),
    ("Fourier transforms", "fft", "fft."), ("Random numbers", "random", "random."),
]
#: Files that hold a part of a class.
MIXED = {"Tensor": [("_assignable", "Assignable"), ("_array_methods", "ArrayMethods")]}


class Package:
    """The parsed sources of the package."""

    def __init__(self, root):
        self.folder = os.path.join(root, "tools", "python", "cleave")
        self.sources = {}
        tree = self.parsed("__init__")
        self.modules = self.imported(tree)
        for name, module in self.modules.items():
            if os.path.isdir(os.path.join(self.folder, module)):  # a package, which has the name from one of its modules
                self.modules[name] = f"{module}/{self.imported(self.parsed(f'{module}/__init__'))[name]}"
        lists = [node.value for node in tree.body if isinstance(node, ast.Assign) and node.targets[0].id == "__all__"]
        self.names = [ast.literal_eval(each) for each in lists[0].elts]
        with open(os.path.join(root, "tools", "python", "module", "errors.cpp"), encoding="utf-8") as file:
            self.bindings = file.read()

    @staticmethod
    def imported(tree):
        """The modules from which names are imported."""
        return {alias.asname or alias.name: node.module for node in tree.body if isinstance(node, ast.ImportFrom) and node.module
                for alias in node.names}

    def parsed(self, module):
        if module not in self.sources:
            path = os.path.join(self.folder, module + ".py")
            with open(path, encoding="utf-8") as file:
                text = file.read()
            self.sources[module] = (ast.parse(text, path), text.split("\n"))
        return self.sources[module][0]

    def definitions(self, name):
        """The functions or the class of that name: a function that is overloaded has several, the last of which is implemented."""
        module = self.modules[name]
        return [node for node in self.parsed(module).body
                if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name == name], self.sources[module][1]


def decorators(node):
    return {ast.unparse(each) for each in node.decorator_list}


def signature(node, name):
    """`name(x, *, y=1)`, on as many lines as it takes."""
    arguments = re.sub(r"^self(, /(, )?|, |$)", "", ast.unparse(node.args)).replace("_cleave.", "")
    returns = ast.unparse(node.returns).replace("_cleave.", "") if node.returns else "None"
    returns = f" -> {returns}" if returns != "None" else ""
    line = f"{name}({arguments}){returns}"
    if len(line) <= 110:
        return [line]
    own = [""]
    for part in split(arguments):
        if own[-1] and len(own[-1]) + len(part) > 104:
            own.append("")
        own[-1] += (" " if own[-1] else "") + part + ","
    own[-1] = own[-1].rstrip(",")
    return [f"{name}(", *("    " + line for line in own), f"){returns}"]


def split(arguments):
    """The parameters of a signature, which may have commas inside of brackets."""
    parts, depth = [""], 0
    for c in arguments:
        depth += (c in "([{") - (c in ")]}")
        if c == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += c
    return [part.strip() for part in parts]


def docstring(node):
    text = ast.get_docstring(node)
    return inspect.cleandoc(text).split("\n") if text else []


def attributes(node, lines):
    """The attributes of a class that have a comment `#:` above them."""
    for each in node.body:
        if isinstance(each, ast.AnnAssign) and lines[each.lineno - 2].strip().startswith("#:"):
            yield each.target.id, ast.unparse(each.annotation), lines[each.lineno - 2].strip().removeprefix("#:").strip()


def module_part(package, heading, module, prefix):
    """The part about a module: its docstring and its own functions and classes."""
    tree = package.parsed(module)
    known = {node.name: node for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    names = next(ast.literal_eval(node.value) for node in tree.body if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__")
    lines = [f"## {heading}", "", *prose(docstring(tree), "python"), ""]
    for name in names:
        node = known.get(name)
        if isinstance(node, ast.ClassDef):
            lines += class_section(prefix + name, node, package.sources[module][1])
        elif node is not None:
            lines += function_section(prefix + name, [node])
    return lines


def function_section(name, nodes):
    implemented = nodes[-1]
    shown = [node for node in nodes if "overload" in decorators(node)] or [implemented]
    shown = [node for node in shown if not (name == "trace" and node.args.args and node.args.args[0].arg == "x")]
    code = [line for node in shown for line in signature(node, f"cleave.{name}")]
    return [f"### {name}", "", *fenced("python", code), "", *prose(docstring(implemented), "python"), ""]


def class_section(name, node, lines, more=()):
    bases = [ast.unparse(base) for base in node.bases if not ast.unparse(base).startswith(("Generic", "Methods", "Assignable", "ArrayMethods"))]
    out = [f"### {name}", "", *fenced("python", [f"class cleave.{name}" + (f"({', '.join(bases)})" if bases else "")]), ""]
    out += [*prose(docstring(node), "python"), ""]
    rows, methods = [], []
    for attribute, type_, text in attributes(node, lines):
        rows.append(f"| `{attribute}` | `{escaped_cell(type_)}` | {text} |")
    for each in [*node.body, *more]:
        if not isinstance(each, ast.FunctionDef) or not (each.name == "__call__" or not each.name.startswith("_")) or not docstring(each):
            continue
        if "property" in decorators(each):
            type_ = ast.unparse(each.returns).replace("_cleave.", "") if each.returns else ""
            rows.append(f"| `{each.name}` | `{escaped_cell(type_)}` | {' '.join(docstring(each))} |")
        elif not any(decorator.endswith(".setter") for decorator in decorators(each)):
            shown = "model" if each.name == "__call__" else each.name
            static = f"cleave.{name}." if decorators(each) & {"staticmethod", "classmethod"} else ""
            methods += [*fenced("python", signature(each, static + shown)), "", *prose(docstring(each), "python"), ""]
    if rows:
        out += ["| attribute | type | what it is |", "|---|---|---|", *rows, ""]
    return out + methods


def escaped_cell(text):
    return text.replace("|", "\\|")


def binding_section(name, text):
    """A class of the extension module, from its binding: the docstring and the attributes with theirs."""
    start = re.search(r'nb::class_<\w+> (\w+)\(module, "' + name + r'", "((?:[^"\\]|\\.)*)"\);', text)
    if not start:
        raise ValueError(f"tools/python/module/errors.cpp: no class {name}")
    end = text.find("nb::class_<", start.end())
    body = text[start.end():end if end != -1 else text.find("module.def", start.end())]
    rows = []
    place = re.search(r"void bind_place\(.*?\n\}", text, re.DOTALL)
    for part in (place.group(0) if place and "bind_place(" in body else "", body):
        for attribute in re.finditer(r'\.def_(?:prop_)?ro\(\s*"(\w+)"(.*?)"((?:[^"\\]|\\.)*)"\)', part, re.DOTALL):
            rows.append(f"| `{attribute.group(1)}` | {attribute.group(3).encode().decode('unicode_escape')} |")
    return [f"### {name}", "", *fenced("python", [f"class cleave.{name}"]), "", *prose([start.group(2)], "python"), "",
            "| attribute | what it is |", "|---|---|", *rows, ""]


def page(root):
    """The text of docs/reference/python.md."""
    package = Package(root)
    listed = [name for _, names in PARTS for name in names]
    if set(listed) != set(package.names) - ELSEWHERE:
        raise ValueError("tools/reference/python.py: PARTS and the package's __all__ differ: "
                         f"{sorted(set(listed) ^ (set(package.names) - ELSEWHERE))}")
    lines = TITLE.split("\n")
    for heading, names in PARTS:
        lines += [f"## {heading}", ""]
        for name in names:
            if package.modules[name] == "_cleave":
                lines += binding_section(name, package.bindings)
                continue
            nodes, source = package.definitions(name)
            if not nodes:
                raise ValueError(f"tools/python/cleave/{package.modules[name]}.py: no function or class {name}")
            more = [each for module, kind in MIXED.get(name, []) for node in package.parsed(module).body
                    if isinstance(node, ast.ClassDef) and node.name == kind for each in node.body]
            lines += class_section(name, nodes[-1], source, more) if isinstance(nodes[-1], ast.ClassDef) else function_section(name, nodes)
        if heading == "Gradients":
            lines += module_part(package, "Optimizers, limits and schedules", "optim", "optim.")
    for heading, module, prefix in MODULES:
        lines += module_part(package, heading, module, prefix)
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).rstrip("\n") + "\n"
