"""Which device a run uses, and what CLEAVE_LOG=info tells."""
import numpy as np
import pytest

import cleave
from cleave import _cleave, _run

X = np.ones((64, 64), np.float32)


@pytest.fixture(params=[False, True], ids=["without a GPU", "with a GPU"])
def gpu(request, monkeypatch):
    """Whether this machine seems to have a GPU."""
    monkeypatch.setattr(_run, "_has_gpu", lambda: request.param)
    return request.param


def test_auto_is_a_gpu_or_the_host(gpu):
    def device(**named):
        return _run.Options.of(named).running.get("device", "auto")

    assert device() == device(device="auto") == ("auto" if gpu else "none")
    assert device(threads=1, machine="simulated") == ("auto" if gpu else "none")
    assert device(placement="accelerator") == device(accelerator_memory="1GiB") == "auto"  # which ask for an accelerator
    assert device(device="simulated") == "simulated" and device(device="cpu") == "none" and device(device="gpu") == "cuda:0"


@pytest.mark.skipif(_cleave.has_gpu(), reason="needs a machine without a GPU")
def test_without_a_gpu_runs_use_the_host_and_plans_the_machine(recwarn):
    model = cleave.trace(lambda x: cleave.for_loop(100, x, lambda i, s: cleave.tanh(s @ s)), "f32[64, 64]")
    assert model.run(x=X).simulated_seconds == 0
    assert model.run(x=X, device="simulated").simulated_seconds > 0
    plan = model.explain()
    assert plan.machine == "simulated" and "assumed" in str(plan)
    assert not [each for each in recwarn if "no GPU" in str(each.message)]
    np.testing.assert_array_equal(model(X), next(iter(model.run(x=X, device="cpu").values())))
    with pytest.raises(cleave.MachineError, match="cuda:0"):
        model.run(x=X, device="gpu")


def test_the_log_tells_tracings_plans_and_compilations(monkeypatch, capfd):
    monkeypatch.setenv("CLEAVE_LOG", "info")

    def doubled(x):
        return x * 2

    model = cleave.trace(doubled, device="none")
    model(np.ones(3, np.float32))
    model(np.ones(3, np.float32))
    model.explain()
    lines = capfd.readouterr().err.splitlines()
    assert [line.split(":")[1].split("`")[0].strip() for line in lines] == ["program of", "compilation of", "plan of"]
    assert "`doubled`(x: f32[3])" in lines[0] and "device none" in lines[1] and all(line.endswith(" ms") for line in lines)
    monkeypatch.delenv("CLEAVE_LOG")
    model(np.ones(4, np.float32))
    assert not capfd.readouterr().err
