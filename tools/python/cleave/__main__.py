"""`python -m cleave`: the command line."""
from __future__ import annotations

import sys

from ._cleave import command_line


def main() -> int:
    """Does what the words behind the program's name say."""
    sys.stdout.flush()
    sys.stderr.flush()
    return command_line(["cleave", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
