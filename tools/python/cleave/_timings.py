"""What the package does, line by line on standard error, where the environment says CLEAVE_LOG=info: tracings, plans and compilations with the
time that each took."""
from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Iterator


@contextlib.contextmanager
def timed(what: str) -> Iterator[None]:
    """Tells of a piece of work when it is done or has failed."""
    if os.environ.get("CLEAVE_LOG") != "info":
        yield
        return
    begin = time.perf_counter()
    failed = True
    try:
        yield
        failed = False
    finally:
        milliseconds = (time.perf_counter() - begin) * 1e3
        print(f"cleave: {what}{' failed after' if failed else ':'} {milliseconds:.1f} ms", file=sys.stderr, flush=True)
