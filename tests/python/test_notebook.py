"""Notebooks: the one of the documentation is executed by a kernel, and its page is rendered by a browser."""
import json
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

import cleave

NOTEBOOK = "docs/examples/notebook.ipynb"

# Tells the size of each picture, and for cleave's own layout the texts that reach beyond the outline of their node, by the browser's fonts.
MEASURE = """<script>
const told = {pictures: [], outside: [], texts: 0};
for (const svg of document.querySelectorAll("svg")) {
  const size = svg.getBoundingClientRect();
  told.pictures.push([Math.round(size.width), Math.round(size.height)]);
  for (const node of svg.hasAttribute("font-family") ? svg.querySelectorAll("g") : []) {
    const outline = node.querySelector("rect, path");
    const box = outline.getBoundingClientRect();
    for (const text of node.querySelectorAll("text")) {
      const own = text.getBoundingClientRect();
      told.texts += 1;
      if (own.left < box.left - 1 || own.right > box.right + 1) told.outside.push(text.textContent);
    }
  }
}
document.title = JSON.stringify(told);
</script>"""


@cleave.trace("f32[n, n]", device="simulated")
def ranking(w):
    def step(i, w):
        w = cleave.tanh(w @ w)
        return w - 0.1 * cleave.sort(w, axis=1)

    return {"w": cleave.for_loop(20, w, step)}


@pytest.fixture(scope="module")
def plan():
    return ranking.explain(dims={"n": 1024})


@pytest.fixture(scope="module")
def executed(tmp_path_factory):
    """The notebook of the documentation after a run of all its cells, and the folder where it ran."""
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    import conftest

    folder = tmp_path_factory.mktemp("notebook")
    kernels = folder / "kernels" / "this"
    kernels.mkdir(parents=True)
    command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    (kernels / "kernel.json").write_text(json.dumps({"argv": command, "display_name": "this", "language": "python"}))
    notebook = nbformat.read(conftest.ROOT / NOTEBOOK, as_version=4)
    nbformat.validate(notebook)
    manager = nbclient.NotebookClient(notebook, timeout=120, kernel_name="this", resources={"metadata": {"path": str(folder)}})
    from jupyter_client.kernelspec import KernelSpecManager

    manager.create_kernel_manager()
    manager.km.kernel_spec_manager = KernelSpecManager(kernel_dirs=[str(folder / "kernels")])
    manager.execute()
    return notebook, folder


def outputs(notebook):
    """The HTML that each cell of code shows."""
    shown = []
    for cell in notebook.cells:
        if cell.cell_type == "code":
            shown.append("".join(each["data"].get("text/html", "") for each in cell.outputs if "data" in each))
    return shown


def test_every_cell_of_the_notebook_shows_something(executed):
    notebook, folder = executed
    model, plan, diagnostics, results, run, progress = outputs(notebook)
    assert "<b>ranking</b>" in model and "<code>f32[n, n]</code>" in model
    assert "<svg" in plan and "accelerator" in plan and "round trip 1" in plan
    assert "makes the accelerator wait" in diagnostics and "<pre" in diagnostics
    assert "return w - 0.1 * cleave.sort(w, axis=1)" in diagnostics and "^~~~" in diagnostics, "the line of the cell"
    assert "float32[64, 64]" in results and "on the simulated clock" in results
    assert "float32[64, 64]" in run
    assert "400 of 400" in progress and 'value="400" max="400"' in progress and "loss" in progress
    assert all("<script" not in each and " id=" not in each.replace(' id="picture-', "") for each in outputs(notebook))


def test_the_page_of_the_notebook_can_be_read_in_a_browser(executed):
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no Chromium")
    notebook, folder = executed
    own = ranking.explain(dims={"n": 1024}).svg(layout="own")
    page = folder / "page.html"
    page.write_text("<!DOCTYPE html><meta charset=utf-8><body>" + "<hr>".join([*outputs(notebook), own]) + MEASURE + "</body>", encoding="utf-8")
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder / 'profile'}", "--dump-dom", page.as_uri()]
    document = subprocess.run(command, capture_output=True, text=True, timeout=120).stdout
    told = json.loads(re.search(r"<title>(.*?)</title>", document).group(1).replace("&quot;", '"').replace("&amp;", "&"))
    assert len(told["pictures"]) == 2 and all(width > 200 and height > 200 for width, height in told["pictures"]), told
    assert told["texts"] > 10 and told["outside"] == [], told


def test_the_timeline_follows_the_format_of_trace_events(executed):
    _, folder = executed
    document = json.loads((folder / "timeline.json").read_text())
    assert document["displayTimeUnit"] in ("ms", "ns")
    events = document["traceEvents"]
    named, tracks = set(), {}
    for event in events:
        assert isinstance(event["name"], str) and isinstance(event["pid"], int) and isinstance(event["tid"], int), event
        if event["ph"] == "M":
            assert event["name"] in ("process_name", "thread_name") and isinstance(event["args"]["name"], str)
            named.add((event["pid"], event["tid"]))
            continue
        assert event["ph"] == "X" and event["ts"] >= 0 and event["dur"] >= 0 and isinstance(event["cat"], str), event
        tracks.setdefault((event["pid"], event["tid"]), []).append((event["ts"], event["ts"] + event["dur"]))
    assert set(tracks) <= named, "every track has a name before or after its events"
    assert len({pid for pid, _ in tracks}) == 2, "host and accelerator"
    for track in tracks.values():  # complete events of a track that overlapped without nesting would be drawn wrongly
        track.sort()
        assert all(one[1] <= other[0] + 1e-3 for one, other in zip(track, track[1:]))
    assert any("sort" in event["name"] or event.get("args", {}).get("op") == "sort" for event in events)


def test_a_plan_has_a_picture_with_and_without_graphviz(plan):
    own = plan.svg(layout="own")
    assert ElementTree.fromstring(own).tag == "{http://www.w3.org/2000/svg}svg"
    assert "round trip 1" in own and "#cc0000" in own and own == plan.svg(layout="own")
    assert plan._repr_svg_() == plan.svg()
    assert len(plan.svg(full=True, layout="own")) >= len(own)
    with pytest.raises(cleave.UsageError, match="no layout `neato`"):
        plan.svg(layout="neato")
    if shutil.which("dot"):
        drawn = plan.svg(layout="graphviz")
        assert ElementTree.fromstring(drawn).tag.endswith("svg") and drawn != own and not drawn.startswith("<?xml")


def test_without_graphviz_a_picture_is_laid_out_all_the_same(plan, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    assert plan.svg(full=True) == plan.svg(full=True, layout="own")
    with pytest.raises(cleave.MachineError, match="cannot run Graphviz"):
        plan.svg(layout="graphviz")


def test_a_plan_has_the_page_of_explain(plan, tmp_path):
    page = plan.html()
    assert page.startswith("<!DOCTYPE html>") and "Content-Security-Policy" in page
    assert page.count("<svg") >= 2, "the timeline and the picture"
    ElementTree.fromstring(page.replace("<!DOCTYPE html>", ""))


def test_texts_of_users_are_escaped(model_file):
    model = cleave.load(model_file('cleave: 1\nmodel: "<b>&"\ninputs: {x: "f32[2]"}\nprogram:\n  - y: exp(x)\noutputs: [y]\n'), device="none")
    assert "<b>&lt;b&gt;&amp;</b>" in model._repr_html_()
    assert "&lt;b&gt;&amp;" in model.explain()._repr_html_()


def test_models_tell_what_they_know_and_compile_nothing():
    @cleave.trace(device="none")
    def later(x):
        return {"y": x + 1}

    assert "first call" in later._repr_html_()
    later(np.ones(3, np.float32))
    assert "<code>f32[3]</code>" in later._repr_html_() and "output" in later._repr_html_() and "first call" not in later._repr_html_()


def test_runs_tell_where_they_stand():
    @cleave.host_function("f32[]")
    def wrong(x):
        raise ValueError("not today <now>")

    @cleave.trace("f32[]", device="none")
    def fails(x):
        return wrong(x)

    run = fails.submit(x=1.0)
    run.wait(30)
    assert "not today &lt;now&gt;" in run._repr_html_()
    results = ranking.run(w=np.zeros((64, 64), np.float32))
    assert "<code>w</code>" in results._repr_html_() and "0., 0., 0., 0., 0., 0., …" in results._repr_html_()


def test_a_diagnostic_and_a_list_of_them_show_their_texts(plan):
    assert str(plan.diagnostics[0]) in str(plan.diagnostics)
    assert plan.diagnostics[0]._repr_html_().startswith("<pre") and "-Wround-trip" in plan.diagnostics[0]._repr_html_()
    assert plan.diagnostics[0]._repr_html_() in plan.diagnostics._repr_html_()
    assert ranking.check(dims={"n": 1024})._repr_html_().count("<pre") == len(ranking.check(dims={"n": 1024})) > 0


def test_progress_writes_a_line_on_a_terminal_and_nothing_elsewhere(monkeypatch):
    import io

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    progress = cleave.Progress(3)
    for step in range(3):
        progress(step, {"loss": 1 / (step + 1)})
    assert progress.step == 3 and progress.values == {"loss": 1 / 3}
    assert terminal.getvalue().endswith("\n") and "step 3 of 3" in terminal.getvalue() and "loss: 0.333333" in terminal.getvalue()
    silent = io.StringIO()
    monkeypatch.setattr(sys, "stderr", silent)
    cleave.Progress()(0, {"loss": 1.0})
    assert silent.getvalue() == ""


def test_messages_quote_lines_that_are_in_no_file():
    import linecache

    text = "import cleave\n\ndef wrong(x):\n    return cleave.relu(x @ x)\n"
    linecache.cache["<cell 7>"] = (len(text), None, text.splitlines(True), "<cell 7>")
    names = {}
    exec(compile(text, "<cell 7>", "exec"), names)
    with pytest.raises(cleave.Error, match=r"<cell 7>:4:26: error: .*\n    4 \|     return cleave.relu\(x @ x\)\n      \|"):
        cleave.trace(names["wrong"], "f32[2, 3]")


def test_a_timeline_that_cannot_be_written_is_an_error():
    with pytest.raises(cleave.Error, match="no/such/folder"):
        ranking.run(w=np.zeros((64, 64), np.float32), trace="no/such/folder/timeline.json")
