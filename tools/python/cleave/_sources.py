"""Lines of programs that are not in files: cells of notebooks, and what else `linecache` knows. Messages quote them."""
from __future__ import annotations

import linecache

from . import _cleave


def _text(name: str) -> str | None:
    return "".join(linecache.getlines(name)) or None


_cleave.read_sources_by(_text)
