"""The plan of an extracted program: remarks about the calls that were found to be the host's join the diagnostics of its texts and
documents."""
from __future__ import annotations

import json
import pathlib
from typing import Any

from .. import _cleave
from .._plan import Plan

KIND = "extracted-host-call"
_SUMMARY = "a call that the program makes on the host"
_HELP = ("A function that is not extracted is called on the host, in its place. The message says why; a function of NumPy or cleave in its "
         "place is an operation of the program.")


class ProgramPlan(Plan):
    """The plan of an extracted program, with remarks."""

    def __init__(self, raw: Any, calls: list[tuple[str, str, _cleave.Location]]) -> None:
        super().__init__(raw)
        self._remarks = [(f"`{name}` is called on the host: {why}", place) for name, why, place in calls]
        names = [name for name, _, _ in calls]
        self._fingerprints = [f"{KIND}:{name}:{names[:at].count(name) + 1}" for at, name in enumerate(names)]

    def __str__(self) -> str:
        texts = [f"{place.file}:{place.line}:{place.column}: remark: {message} [-R{KIND}]" for message, place in self._remarks]
        return "\n".join([super().__str__(), *texts])

    def json(self) -> dict[str, Any]:
        known = self._document is not None
        document = super().json()
        if not known:
            document["diagnostics"] += [
                {"kind": KIND, "severity": "remark", "message": message, "location": _location(place), "statement": None,
                 "fingerprint": fingerprint, "notes": [], "fixes": []}
                for (message, place), fingerprint in zip(self._remarks, self._fingerprints)]
        return document

    def sarif(self) -> str:
        document = json.loads(super().sarif())
        run = document["runs"][0]
        rules = run["tool"]["driver"]["rules"]
        results = [{"ruleId": KIND, "ruleIndex": len(rules), "level": "note", "message": {"text": message}, "locations": [
            {"physicalLocation": {"artifactLocation": {"uri": _uri(place)},
                                  "region": {"startLine": place.line, "startColumn": max(place.column or 1, 1)}}}]}
            for message, place in self._remarks]
        rules.append({"id": KIND, "shortDescription": {"text": _SUMMARY}, "help": {"text": _HELP},
                      "defaultConfiguration": {"enabled": True, "level": "note"}})
        run["results"] += results
        return json.dumps(document, indent=1)


def _location(place: _cleave.Location) -> dict[str, Any]:
    column = max(place.column or 1, 1)
    return {"file": place.file, "line": place.line, "column": column, "end_line": place.line, "end_column": column}


def _uri(place: _cleave.Location) -> str:
    path = pathlib.Path(place.file or "")
    return path.as_uri() if path.is_absolute() else path.as_posix()
