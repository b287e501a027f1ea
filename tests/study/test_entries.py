"""What entries of toolings and data sets ask a cluster for."""

import pytest

from toolnoise.study import config, entries


@pytest.mark.parametrize(
    ("tooling", "dataset", "expected"),
    [
        ({"threads": 1}, {}, 1),
        ({"threads": 4}, {}, 4),
        ({"threads": 4}, {"stored_size": "original"}, 8),
        ({"threads": 16}, {"stored_size": "original"}, 16),
        ({"threads": 4}, {"stored_size": "original", "cores": 24}, 24),
        # No run has fewer cores than threads.
        ({"threads": 4}, {"cores": 2}, 4),
    ],
)
def test_a_run_gets_the_cores_of_its_tooling_or_those_that_its_data_set_asks_for(tooling, dataset, expected):
    assert entries.cores(tooling, dataset) == expected


@pytest.mark.parametrize(
    ("dataset", "cores", "memory"),
    [
        ({"streamed": False}, 1, 16_000),
        ({"streamed": True}, 8, 16_000),
        ({"streamed": True, "cores": 3, "memory_mb": 64_000}, 3, 64_000),
    ],
)
def test_preparing_data_gets_what_the_data_set_asks_for(dataset, cores, memory):
    assert (entries.preparing_cores(dataset), entries.memory(dataset)) == (cores, memory)


def test_a_site_whose_gpus_have_no_model_is_asked_for_features_of_the_node(written, built):
    written["hardware"]["noisy"] |= {"gpu_model": "", "constraint": "v100|v100s"}
    study = built(written)
    assert entries.needs(study.tooling("noisy"))["constraint"] == "v100|v100s"
    # No registry entry names one: an empty one would be a constraint, too.
    assert {entries.needs(entry)["constraint"] for entry in config.registered("hardware").values()} == {None}
