"""A study file that names a training program: what it must say, and what does not go together."""

import pytest

STUDY = {
    "study": "programs",
    "models": {"mine": {"command": "python train.py {init}", "sources": ["init", "shuffle"]}},
    "grid": [
        {
            "models": ["mine"],
            "datasets": ["outcome"],
            "hardware": ["command"],
            "variants": ["control", "impl", "init"],
            "seeds": 3,
        }
    ],
}


def test_a_study_of_a_program_has_its_cells(built):
    assert [cell.variant for cell in built(STUDY).cells] == ["control", "impl", "init"]


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"command": "python train.py {seed}"}, "unknown placeholder {seed}"),
        ({"command": "python 'train.py"}, "cannot be split"),
        ({"sources": ["shuffle"]}, "{init} stands in the command, and sources are shuffle"),
        ({"builder": "a:b"}, "found it beside command"),
        ({"outcome": "words"}, 'found "words"'),
    ],
)
def test_a_bad_program_is_refused_when_the_study_is_read(changed, says, built, refused):
    study = {**STUDY, "models": {"mine": {**STUDY["models"]["mine"], **changed}}}
    assert says in refused(built, study)


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        (
            {"variants": ["dropout"]},
            "found dropout for 'mine'; its sources are init, shuffle; the others are not separable",
        ),
        ({"variants": ["bit"]}, "found a moved bit"),
        ({"variants": ["data"]}, "found other training data"),
        ({"hardware": ["cpu"]}, "hardware: found 'cpu'; hardware with engine command for training programs"),
        ({"datasets": ["digits"]}, "datasets: found 'digits'; datasets with reader outcome"),
        ({"recipe": "plain"}, "recipe"),
        ({"models": ["mine", "smallcnn"], "recipe": "paper"}, "training programs in blocks of their own"),
    ],
)
def test_what_does_not_belong_to_programs_is_refused(changed, says, built, refused):
    study = {**STUDY, "grid": [{**STUDY["grid"][0], **changed}]}
    assert says in refused(built, study)
