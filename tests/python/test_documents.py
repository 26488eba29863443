"""Every Python example of the README and the guides runs and prints the text below it. CLEAVE_UPDATE_GOLDEN=1 rewrites that text."""
import contextlib
import io
import os
import re
import warnings

import pytest

GUIDE = "docs/guide/python.md"
GUIDES = [GUIDE, "docs/guide/training.md", "docs/guide/coming-from.md", "docs/guide/tutorial.md", "README.md"]
BLOCK = re.compile(r"```(python|text)\n(.*?)```\n", re.DOTALL)
NUMBER = re.compile(r"\d+\.\d+")


def close(one, other):
    """Whether two texts are equal except for the last digits of numbers: instruction sets round differently."""
    pairs = list(zip(NUMBER.findall(one), NUMBER.findall(other)))
    return NUMBER.sub("#", one) == NUMBER.sub("#", other) and all(abs(float(a) - float(b)) <= 2e-6 * abs(float(a)) for a, b in pairs)


@pytest.mark.parametrize("guide", GUIDES)
def test_every_example_prints_what_stands_below_it(root, tmp_path, monkeypatch, guide):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs").symlink_to(root / "docs")
    text = (root / guide).read_text(encoding="utf-8")
    names, printed = {"__name__": "example"}, None

    def true_block(block):
        nonlocal printed
        kind, content = block.groups()
        if kind == "text":
            return f"```text\n{content if close(content, printed) else printed}```\n"
        (tmp_path / "example.py").write_text(content, encoding="utf-8")
        import linecache
        linecache.clearcache()
        stream = io.StringIO()
        with contextlib.redirect_stdout(stream), warnings.catch_warnings():
            warnings.simplefilter("error")
            exec(compile(content, "example.py", "exec"), names)
        printed = stream.getvalue()
        return block.group(0)

    truth = BLOCK.sub(true_block, text)
    if os.environ.get("CLEAVE_UPDATE_GOLDEN"):
        (root / guide).write_text(truth, encoding="utf-8")
    else:
        assert text == truth
    assert printed is not None


def test_every_public_name_is_in_the_guide(root):
    import cleave

    text = (root / GUIDE).read_text(encoding="utf-8")
    own = [name for name in cleave.__all__ if name not in cleave.functions.__all__ and not name.startswith("_")]
    lesser = {"Batches", "HostMark", "Location", "Note", "ProgramModel", "Results", "TracedModel", "Type", "Until", "Model", "constant", "functions", "parse"}
    assert {name for name in own if name not in text} <= lesser


@pytest.mark.parametrize("name", ["README.md", "docs/README.md"])
def test_the_guide_is_found(root, name):
    assert "python.md" in (root / name).read_text(encoding="utf-8")
