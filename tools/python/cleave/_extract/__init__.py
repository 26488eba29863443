"""Extraction: an ordinary Python function becomes a program. `_rewrite.py` turns its source into calls of `_runtime.py`; `_program.py` runs
the rewritten function once to record it."""
from ._marks import HostMark, host
from ._program import ProgramModel, program
from ._walks import unrolled

__all__ = ["HostMark", "ProgramModel", "host", "program", "unrolled"]
