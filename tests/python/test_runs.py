"""Runs: concurrent ones, waiting, cancellation, interruption."""
import concurrent.futures
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import cleave


def endless(x):
    return cleave.while_loop(lambda x: x >= 0, x, lambda x: cleave.where(x > 1e6, 0.0, x + 1))


@pytest.fixture
def forever():
    return cleave.trace(endless, "f32[]", device="none")


def test_a_run_is_submitted_and_waited_for():
    run = cleave.trace(lambda x: {"y": x + 1}, "f32[2]", device="none").submit(x=np.ones(2, np.float32))
    assert run.wait() and run.ready
    assert run.result()["y"].tolist() == [2, 2]
    assert run["y"].tolist() == [2, 2] and run.get("y") is run["y"]
    assert not run["y"].flags.writeable
    with pytest.raises(cleave.UsageError, match="no output"):
        run.get("z")


def test_outputs_are_there_before_the_end(forever):
    gate = threading.Event()

    def wait(x):
        gate.wait(20)
        return x

    model = cleave.trace(lambda x: {"early": x + 1, "late": cleave.host_call(wait, "f32[]", x)}, "f32[]", device="none")
    run = model.submit(x=1)
    try:
        assert run.get("early", timeout=20) == 2
        assert not run.ready
        assert not run.wait(0.01)
        with pytest.raises(TimeoutError):
            run.get("late", timeout=0.01)
        with pytest.raises(TimeoutError):
            run.result(timeout=0.01)
    finally:
        gate.set()
    assert run.get("late") == 1


def test_a_run_is_cancelled(forever):
    run = forever.submit(x=1)
    assert not run.wait(0.05)
    run.cancel()
    with pytest.raises(cleave.Cancelled):
        run.result(timeout=20)
    assert run.ready


def test_two_threads_run_one_model_at_once():
    model = cleave.trace(lambda x: cleave.tanh(x @ x).sum(axis=1), "f32[n, n]", device="none")
    arrays = [np.random.default_rng(seed).standard_normal((n, n)).astype(np.float32) for seed, n in enumerate([8, 32, 64] * 20)]
    expected = [np.tanh(x @ x).sum(axis=1) for x in arrays]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for result, wanted in zip(pool.map(lambda x: model.run(x=x)["output0"], arrays), expected):
            np.testing.assert_allclose(result, wanted, rtol=1e-3, atol=1e-3)


def test_other_threads_work_while_one_runs(forever):
    run = threading.Thread(target=lambda: pytest.raises(cleave.Cancelled, handle.result))
    handle = forever.submit(x=1)
    run.start()
    before = time.monotonic()
    total = sum(range(100000))  # needs the interpreter's lock
    assert total and time.monotonic() - before < 5
    handle.cancel()
    run.join(20)
    assert not run.is_alive()


INTERRUPTED = """
import signal, time
import cleave
signal.signal(signal.SIGINT, signal.default_int_handler)  # the signal is ignored in a test run in the background
{setup}
model = cleave.trace(lambda x: cleave.while_loop(lambda x: x >= 0, x, lambda x: {body}), "f32[]", device="none")
model.compile()
print("ready", flush=True)
try:
    {run}
except KeyboardInterrupt:
    print("interrupted", flush=True)
print(cleave.trace(lambda x: x + 1, "f32[]", device="none")(1.0), flush=True)
"""


@pytest.mark.parametrize("case", [
    {"body": "cleave.where(x > 1e6, 0.0, x + 1)", "run": "model.run(x=1)", "setup": ""},
    {"body": "cleave.host_call(slow, 'f32[]', x)", "run": "model.run(x=1)", "setup": "def slow(x):\n    time.sleep(0.01)\n    return x"},
    {"body": "cleave.where(x > 1e6, 0.0, x + 1)", "run": "model.submit(x=1).result()", "setup": ""},
], ids=["run", "in a host function", "waiting"])
def test_ctrl_c_interrupts_a_run(case):
    process = subprocess.Popen([sys.executable, "-c", INTERRUPTED.format(**case)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    try:
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert out == "interrupted\n2.0\n", err
    assert process.returncode == 0


def test_handlers_of_signals_stay_as_they_are():
    found = signal.signal(signal.SIGINT, signal.default_int_handler)
    before = signal.getsignal(signal.SIGINT)
    cleave.trace(lambda x: x + 1, "f32[]", device="none")(1.0)
    assert signal.getsignal(signal.SIGINT) is before
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
    signal.signal(signal.SIGINT, found)


def test_python_ends_while_a_run_is_under_way():
    program = """
import time, cleave
def slow(x):
    time.sleep(0.01)
    return x
model = cleave.trace(lambda x: cleave.while_loop(lambda x: x >= 0, x, lambda x: cleave.host_call(slow, "f32[]", x)), "f32[]", device="none")
run = model.submit(x=1)
time.sleep(0.1)
print("over")
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (ended.stdout, ended.stderr, ended.returncode) == ("over\n", "", 0)


FORKED = """
import os, signal, sys
import numpy as np
import cleave

@cleave.trace("f32[200, 200]", device=sys.argv[1], threads=2, **({} if sys.argv[1] == "none" else {"placement": "accelerator"}))
def f(x):
    return {"y": cleave.sum(cleave.exp(x @ x * 0.001))}

x = np.ones((200, 200), np.float32)
expected = f(x)["y"]
run = f.submit(x=x)
child = os.fork()
if child == 0:
    signal.alarm(60)
    assert f(x)["y"] == expected
    assert f.submit(x=x).result()["y"] == expected
    sys.exit(0)
assert os.waitpid(child, 0)[1] == 0
assert run.result()["y"] == expected
print("over")
"""


@pytest.mark.parametrize("device", ["none", "simulated"])
def test_a_forked_child_runs_what_its_parent_has_run(device):
    ended = subprocess.run([sys.executable, "-c", FORKED, device], capture_output=True, text=True, timeout=120)
    assert (ended.stdout, ended.stderr, ended.returncode) == ("over\n", "", 0)
