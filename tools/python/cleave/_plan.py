"""Plan: what runs where, what it costs, and why."""
from __future__ import annotations

import json
from typing import Any

from . import _html
from ._cleave import Diagnostic, RawPlan


class Diagnostics(list[Diagnostic]):
    """A list of diagnostics. `print` shows their texts, and so does a notebook."""

    def __str__(self) -> str:
        return "\n".join(str(each) for each in self)

    def _repr_html_(self) -> str:
        """The texts, for a notebook."""
        return _html.diagnostics(self)


class Plan:
    """The placement of a program: `print(plan)` is the report of `cleave explain`."""

    def __init__(self, raw: RawPlan) -> None:
        self._raw = raw
        self._document: dict[str, Any] | None = None
        self._picture: str | None = None

    def __str__(self) -> str:
        return self._raw.explain().rstrip("\n")

    def __repr__(self) -> str:
        return f"<Plan: {self.summary}>"

    @property
    def summary(self) -> str:
        """One line: how many operations are where, transfers, round trips, predicted time."""
        return self._raw.summary()

    def json(self) -> dict[str, Any]:
        """The document of `cleave explain --json` (docs/json.md)."""
        if self._document is None:
            self._document = json.loads(self._raw.json())
        return self._document

    def dot(self, full: bool = False) -> str:
        """Graphviz source of a picture: one cluster for each device, transfers as labeled edges, round trips in red. `full`: no node is collapsed."""
        return self._raw.dot(full)

    def svg(self, full: bool = False, layout: str = "auto") -> str:
        """The same picture as an SVG element. `layout`: "graphviz", "own" (cleave's, which needs no other program), or "auto": Graphviz's
        where it is installed and finishes within 5 s, else cleave's own. An Error (machine) if Graphviz is required and missing."""
        if full or layout != "auto":
            return self._raw.svg(full, layout)
        if self._picture is None:
            self._picture = self._raw.svg(full, layout)
        return self._picture

    def html(self) -> str:
        """The page of `cleave explain --html`, a whole document: the program's lines and what they cost, the timeline, the picture, tables.
        It loads nothing from elsewhere."""
        return self._raw.html()

    def _repr_svg_(self) -> str:
        return self.svg()

    def _repr_html_(self) -> str:
        """The summary, the picture and the diagnostics, for a notebook."""
        return _html.plan(self)

    def sarif(self) -> str:
        """The diagnostics as SARIF 2.1.0, as code hosts read it."""
        return self._raw.sarif()

    @property
    def diagnostics(self) -> list[Diagnostic]:
        """The diagnostics of the plan: round trips and other warnings, exceeded limits."""
        return Diagnostics(self._raw.diagnostics)

    @property
    def predicted_seconds(self) -> float:
        """The duration of a run, predicted by the machine's costs."""
        return self._raw.predicted_seconds

    @property
    def all_host_seconds(self) -> float:
        """The same if every operation ran on the host; NaN if that is impossible."""
        return self._raw.all_host_seconds

    @property
    def all_accelerator_seconds(self) -> float:
        """The same if every operation that can ran on the accelerator; NaN if that is impossible."""
        return self._raw.all_accelerator_seconds

    @property
    def machine(self) -> str:
        """The machine whose costs these are."""
        return self._raw.machine

    @property
    def totals(self) -> dict[str, Any]:
        """Counts and sums over a run: transfers, bytes, seconds, round trips."""
        totals: dict[str, Any] = self.json()["totals"]
        return totals

    @property
    def nodes(self) -> list[dict[str, Any]]:
        """Every operation: name, devices, costs, cause, location."""
        nodes: list[dict[str, Any]] = self.json()["nodes"]
        return nodes

    @property
    def transfers(self) -> list[dict[str, Any]]:
        """Every transfer: value, direction, bytes, frequency, location."""
        transfers: list[dict[str, Any]] = self.json()["transfers"]
        return transfers

    @property
    def round_trips(self) -> list[dict[str, Any]]:
        """Where the accelerator waits for the host: the value sent, the value returned, and how often."""
        round_trips: list[dict[str, Any]] = self.json()["round_trips"]
        return round_trips
