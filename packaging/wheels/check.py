"""Runs the Python examples of a document with the installed package, and compares what they print with the text below them.

    python packaging/wheels/check.py README.md

Needs Python, NumPy and the package only. Numbers may differ in their last digits, since instruction sets round differently."""
import contextlib
import io
import linecache
import os
import re
import subprocess
import sys
import tempfile

BLOCK = re.compile(r"```(python|text)\n(.*?)```\n", re.DOTALL)
NUMBER = re.compile(r"\d+\.\d+")


def close(one, other):
    """Whether two texts are equal except for the last digits of numbers."""
    pairs = list(zip(NUMBER.findall(one), NUMBER.findall(other)))
    return NUMBER.sub("#", one) == NUMBER.sub("#", other) and all(abs(float(a) - float(b)) <= 2e-6 * abs(float(a)) for a, b in pairs)


def main(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    os.chdir(tempfile.mkdtemp())
    names, printed, compared = {"__name__": "example"}, None, 0
    for kind, content in BLOCK.findall(text):
        if kind == "text" and printed is not None:
            if not close(content, printed):
                sys.exit(f"{path}: the document says\n{content}\nand the example prints\n{printed}")
            compared += 1
            continue
        with open("example.py", "w", encoding="utf-8") as file:
            file.write(content)
        linecache.clearcache()
        stream = io.StringIO()
        with contextlib.redirect_stdout(stream):
            exec(compile(content, "example.py", "exec"), names)
        printed = stream.getvalue()
    if compared == 0:
        sys.exit(f"{path}: no example of Python")
    version = subprocess.run([sys.executable, "-m", "cleave", "--version"], capture_output=True, text=True, check=True).stdout.strip()
    import cleave
    if cleave.__version__ not in version:
        sys.exit(f"the command line says {version}, the package {cleave.__version__}")
    print(f"{version}: {compared} examples of {os.path.basename(path)} print what stands below them")


if __name__ == "__main__":
    main(os.path.abspath(sys.argv[1]))
