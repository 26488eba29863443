"""`python -m cleave`: the command line."""
from __future__ import annotations

import sys

from ._cleave import command_line


def main() -> int:
    """Executes the command line in the program's arguments."""
    sys.stdout.flush()
    sys.stderr.flush()
    return command_line(["cleave", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
