"""Runs beside each other: what must be bit-equal, what must differ, and what a run says of itself."""

import os

import pytest

JUNK = {
    "OMP_NUM_THREADS": "2",
    "TF_NUM_INTRAOP_THREADS": "2",
    "TF_ENABLE_ONEDNN_OPTS": "0",
    "TF_DETERMINISTIC_OPS": "0",
    "ONEDNN_MAX_CPU_ISA": "SSE41",
    "KERAS_BACKEND": "jax",
    "XLA_FLAGS": "--xla_cpu_enable_fast_math=true",
    "NPY_DISABLE_CPU_FEATURES": "AVX2 FMA3",
    "PYTHONHASHSEED": "7",
    "TZ": "Asia/Kathmandu",
}
KERAS_JSON = '{"floatx": "float16", "epsilon": 0.1, "image_data_format": "channels_first", "backend": "jax"}'


@pytest.fixture(scope="module")
def here(workshop):
    return workshop()


@pytest.fixture(scope="module")
def control(here):
    return here.train("control", 1)


@pytest.fixture(scope="module")
def impl(here):
    return here.train("impl", 1)


def test_nothing_in_the_environment_leaks_into_a_run(here, control, tmp_path):
    (tmp_path / ".keras").mkdir()
    (tmp_path / ".keras" / "keras.json").write_text(KERAS_JSON)
    other = here.train("control", 2, env=JUNK | {"HOME": str(tmp_path), "KERAS_HOME": str(tmp_path / ".keras")})
    assert other.weight_bytes == control.weight_bytes
    assert other.digests == control.digests


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system cannot bind a process to a core")
def test_a_run_on_one_core_of_the_machine_gives_the_same_bits(here, control):
    core = min(os.sched_getaffinity(0))
    bound = here.train("control", 3, preexec_fn=lambda: os.sched_setaffinity(0, {core}))
    assert bound.record["observed"]["cores"] == 1
    assert bound.weight_bytes == control.weight_bytes


def test_implementation_noise_tells_seeds_apart(here, impl, control):
    other = here.train("impl", 2)
    assert len({impl.weight_bytes, other.weight_bytes, control.weight_bytes}) == 3
    assert impl.record["emulated_noise"] == "reduction-order"
    assert control.record["emulated_noise"] is None


# That two toolings differ under Control and share their draws is seen in tests/workflow/test_small_study.py.
def test_runs_say_what_draws_they_share(here, control, impl):
    def drawn(run):
        return [row["draws_sha256"] for row in run.history]

    algo = here.train("algo", 1)
    assert control.record["initial_sha256"] == impl.record["initial_sha256"] != algo.record["initial_sha256"]
    for one, other in ((control, impl), (control, algo)):
        assert all(mine != theirs for mine, theirs in zip(drawn(one), drawn(other), strict=True))


def test_a_run_says_what_it_ran_on(control):
    observed = control.record["observed"]
    assert observed["device"] == "cpu"
    assert observed["deterministic"] is True
    assert set(observed["versions"]) == {"tensorflow", "keras", "numpy"}
    assert observed["variables"]["OMP_NUM_THREADS"] == "1"
    assert {"host", "cpu", "cpu_flags", "cores", "slurm"} <= set(observed)
    assert "avx2" in observed["cpu_flags"]


def test_a_run_says_what_its_time_went_into(control):
    seconds = control.record["seconds"]
    assert {"start_up", "compile", "training", "evaluation"} <= set(seconds)
    assert all(value > 0 for value in seconds.values())


def test_a_history_has_a_row_for_every_epoch_and_ends_at_the_weights(control):
    assert [row["epoch"] for row in control.history] == ["1", "2"]
    assert control.record["epochs"] == 2
    assert control.record["status"] == "completed"
    assert len(control.history[-1]["tensors_sha256"].split()) == len(control.weights)
