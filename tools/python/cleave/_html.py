"""How models, plans, diagnostics and runs look in a notebook: parts of a page without scripts, style sheets or ids."""
from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from ._cleave import Diagnostic
    from ._model import Model
    from ._plan import Plan
    from ._run import Results

_CELL = "text-align:left;vertical-align:top;padding:.15em .8em .15em 0"
_COLORS = {"error": "#cc0000", "warning": "#c08000"}
_FEW_DIAGNOSTICS = 20
_SHOWN_NUMBERS = 6


def _text(text: object) -> str:
    return html.escape(str(text))


def _code(text: object) -> str:
    return f"<code>{_text(text)}</code>"


def _table(rows: Iterable[Sequence[str]], head: Sequence[str] = ()) -> str:
    """A table of cells that are markup already."""
    top = "<thead><tr>" + "".join(f'<th style="{_CELL}">{each}</th>' for each in head) + "</tr></thead>" if head else ""
    body = "".join("<tr>" + "".join(f'<td style="{_CELL}">{cell}</td>' for cell in row) + "</tr>" for row in rows)
    return f'<table style="border-collapse:collapse">{top}<tbody>{body}</tbody></table>'


def diagnostic(of: Diagnostic) -> str:
    """One diagnostic: its text as the command line prints it, with a bar in the color of its severity."""
    color = _COLORS.get(of.severity, "#888888")
    return f'<pre style="margin:0 0 .5em 0;padding-left:.6em;border-left:3px solid {color}">{_text(of)}</pre>'


def diagnostics(all_of_them: Sequence[Diagnostic]) -> str:
    """Diagnostics one below the other, the first ones if there are many."""
    if not all_of_them:
        return "<em>no diagnostics</em>"
    shown = "".join(diagnostic(each) for each in all_of_them[:_FEW_DIAGNOSTICS])
    more = len(all_of_them) - _FEW_DIAGNOSTICS
    return shown + (f"<em>and {more} more</em>" if more > 0 else "")


def plan(of: Plan) -> str:
    """The summary, the picture, and the diagnostics."""
    told = [each for each in of.diagnostics if each.severity != "allowed"]
    messages = f"<div>{diagnostics(told)}</div>" if told else ""
    return f"<div><p>{_text(of.summary)}</p>{of.svg()}{messages}</div>"


def model(of: Model, *, known: bool, declared: bool) -> str:
    """The name, and a table of inputs, parameters and outputs. What is not known before the first run is left out."""
    rows = [("input", name, type_) for name, type_ in of.inputs.items()] if declared else []
    if known:
        rows += [("parameter", name, type_) for name, type_ in of.parameters.items()]
        rows += [("output", name, type_) for name, type_ in of.outputs.items()]
    later = "" if known else "<em>The first call or plan decides the rest.</em>"
    return f"<div><p><b>{_text(of.name)}</b></p>{_table((kind, _code(name), _code(type_)) for kind, name, type_ in rows)}{later}</div>"


def _numbers(array: Any) -> str:
    """The first numbers of an array."""
    flat = np.asarray(array).reshape(-1)
    shown = np.array2string(flat[:_SHOWN_NUMBERS], separator=", ", max_line_width=10**6)[1:-1]
    return shown + (", …" if flat.size > _SHOWN_NUMBERS else "")


def results(of: Results) -> str:
    """A table of the outputs, and how long the run took."""
    rows = [(_code(name), _code(f"{array.dtype}{list(array.shape)}"), _code(_numbers(array))) for name, array in of.items()]
    clock = ""
    if getattr(of, "seconds", None) is not None:
        clock = f"<p>{_seconds(of.seconds)}"
        clock += f", {_seconds(of.simulated_seconds)} on the simulated clock</p>" if of.simulated_seconds else "</p>"
    return f"<div>{_table(rows, ('output', 'type', 'values'))}{clock}</div>"


def run_under_way() -> str:
    """A run that is not over."""
    return "<p>The run is under way.</p>"


def failed_run(error: Exception) -> str:
    """A run that ended with an error, or was cancelled."""
    return f'<pre style="margin:0;padding-left:.6em;border-left:3px solid {_COLORS["error"]}">{_text(error)}</pre>'


def progress(step: int, steps: int | None, values: Mapping[str, float], seconds: float) -> str:
    """A bar with the numbers that were logged last."""
    numbers = "  ".join(f"{name}: {value:.6g}" for name, value in values.items())
    bar = f'<progress value="{step}" max="{steps}" style="width:20em"></progress> {step} of {steps}' if steps else f"step {step}"
    return f"<div>{bar}, {_seconds(seconds)} <code>{_text(numbers)}</code></div>"


def _seconds(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"
