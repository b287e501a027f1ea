import hashlib
import itertools
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

from toolnoise import streams
from toolnoise.base.noise_sources import ALGORITHMIC, SOURCES, replicate
from toolnoise.base.spec import Spec
from toolnoise.epoch_plan import plan_epoch, trained_on
from toolnoise.models.initial import Parameter, initial_weights
from toolnoise.study.variants import VARIANTS
from toolnoise.training import bitflip

KEYS = st.integers(0, 2**128 - 1)
EXAMPLES = 50
PARAMETERS = [
    Parameter("conv1/kernel", (3, 3, 4, 4), True, "GlorotUniform", {}),
    Parameter("conv2/kernel", (3, 3, 4, 4), True, "GlorotUniform", {}),
    Parameter("conv2/bias", (4,), True, "Zeros", {}),
]
SEEDS = (1, 2, 3)

# SHA-256 of the little-endian bytes of draws from the key of (seed 7, init, replicate 3, "conv1/kernel").
# They hold on every platform, for every release of NumPy, for ever.
PINNED = {
    "key": "a41440ae495e5eb60c34d987a4b4f2f534ec58e1d2383a0e3e28658b4fa26091",
    "uniform": "2e3e89a4d050cd83c5855ddbef8a7f07928950bf82b0b58677d722f6c4903360",
    "truncated_normal": "77453179505d0f127be9f2e9888ce10cde3964b0eea223a56ff30548a5c99321",
    "integers": "e6f0ecd344f5943ebe3e1a40b9d8d00fa9244aca6e939c7022f66d5020c7a493",
    "permutation": "0389273866582cb7a3f51521f6eb3a431621b1d7316b37d4afebc58274a6842b",
    "keep_mask": "4ca8ea346a8e1048925d006e04793bc8926ee9cec5fc6bf9f0ab16b19d523498",
}


def pinned_draws():
    stream = streams.key(7, "init", 3, "conv1/kernel")
    return {
        "key": streams.words(stream),
        "uniform": streams.uniform(stream, (10, 100)),
        "truncated_normal": streams.truncated_normal(stream, (10, 100)),
        "integers": streams.integers(stream, (1000,), 10),
        "permutation": streams.permutation(stream, 1000),
        "keep_mask": keep_mask(streams.words(stream), (5, 1, np.arange(1000)), 0.3),
    }


def keep_mask(words, counters, rate):
    return streams.keep_mask(np, words, [np.atleast_1d(counter).astype(np.uint32) for counter in counters], rate)


def digest(array):
    return hashlib.sha256(array.astype(array.dtype.newbyteorder("<")).tobytes()).hexdigest()


@pytest.fixture(scope="module")
def digests():
    return {name: digest(array) for name, array in pinned_draws().items()}


@pytest.mark.parametrize("name", PINNED)
def test_draws_are_the_bytes_they_have_always_been(name, digests):
    assert digests[name] == PINNED[name]


def test_another_process_draws_the_same_bytes_whatever_its_number_of_threads(digests):
    threads = "4"
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")
    environment = os.environ | dict.fromkeys(names, threads) | {"PYTHONHASHSEED": threads}
    program = (
        f"import runpy; test = runpy.run_path({__file__!r}); "
        "print({name: test['digest'](array) for name, array in test['pinned_draws']().items()})"
    )
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(digests)


def test_no_two_sources_replicates_layers_or_epochs_ever_share_a_stream():
    names = list(
        itertools.product(
            (0, 1, 12),
            (*SOURCES, streams.ANALYSIS),
            (0, 1, 11, 12),
            # 1 and "1", and parts that would be equal when joined, are different streams.
            ((), (1,), ("1",), (1, 1), (11,), ("conv1/kernel",), ("conv2/kernel",), ("conv1", "kernel"), (0, "crop")),
        )
    )
    keys = [streams.key(seed, source, run, *what) for seed, source, run, what in names]
    assert len(set(keys)) == len(names)
    assert len({streams.raw(key, 2).tobytes() for key in keys}) == len(names)
    assert len({streams.words(key).tobytes() for key in keys}) == len(names)


def test_a_source_that_is_none_is_a_defect_told_at_once():
    with pytest.raises(ValueError, match="unknown source 'weather'"):
        streams.key(0, "weather", 1)


@given(KEYS, st.integers(0, 300))
def test_uniforms_are_exact_and_below_one(stream, count):
    drawn = streams.uniform(stream, (count,))
    assert drawn.dtype == np.float32
    assert ((drawn >= 0) & (drawn < 1)).all()
    assert (drawn * 2**24 == np.floor(drawn * 2**24)).all()


def test_uniforms_and_integers_fill_their_range_evenly():
    stream = streams.key(0, "init", 1)
    count = 100_000
    # Five standard errors.
    assert abs(streams.uniform(stream, (count,)).mean() - 0.5) < 5 * np.sqrt(1 / 12 / count)
    frequencies = np.bincount(streams.integers(stream, (count,), 7), minlength=7) / count
    assert np.abs(frequencies - 1 / 7).max() < 5 * np.sqrt(1 / 7 / count)


def mask(rate=0.5, run=1, step=1, layer=0, count=100_000):
    return keep_mask(streams.words(streams.key(0, "dropout", run)), (step, layer, np.arange(count)), rate)


@pytest.mark.parametrize("rate", [0, 0.1, 0.5, 0.9])
def test_dropout_keeps_one_minus_its_rate(rate):
    kept = mask(rate)
    assert abs(kept.mean() - (1 - rate)) <= 5 * np.sqrt(rate * (1 - rate) / kept.size)


@pytest.mark.parametrize("change", [{"run": 2}, {"step": 2}, {"layer": 1}], ids=str)
def test_masks_of_another_run_step_or_layer_are_independent(change):
    agreeing = mask() == mask(**change)
    assert abs(agreeing.mean() - 0.5) < 5 * np.sqrt(0.25 / agreeing.size)


def test_a_mask_does_not_repeat_itself_from_element_to_element():
    kept = mask()
    for distance in (1, 2, 8, 64, 1024):
        agreeing = kept[distance:] == kept[:-distance]
        assert abs(agreeing.mean() - 0.5) < 5 * np.sqrt(0.25 / agreeing.size)


def in_slots(plan, values):
    """What was planned for each place in its batch, wherever the example was moved."""
    planned = np.empty_like(values)
    for row, slots, moved in zip(planned, plan.slots, values, strict=True):
        row[slots] = moved
    return planned


def draws(spec, epoch=1):
    """Every draw of a run by its source, as bytes: what each example meets, whatever place in the batch it has."""
    first = replicate("init", spec)
    weights = initial_weights(PARAMETERS, spec.study_seed, first, "m")
    plan = plan_epoch(spec, EXAMPLES, epoch)
    order = in_slots(plan, plan.order)
    pictures = np.full((EXAMPLES, 3), -1)
    pictures[plan.order.ravel()] = np.concatenate([plan.offsets, plan.flips[..., np.newaxis]], axis=2).reshape(-1, 3)
    return {
        "init": b"".join(tensor.tobytes() for tensor in weights.values()),
        "shuffle": order.tobytes(),
        "augment": pictures,
        "dropout": plan.dropout.tobytes(),
        "impl": plan.slots.tobytes(),
        # Of so many weights that no two runs move the same one by chance.
        "bit": bitflip.of_run([Parameter("wide/kernel", (10_000, 10_000), True, "GlorotUniform", {})], spec),
    }


def differing(one, other):
    """The sources in which two runs differ; pictures are compared for the examples that both runs see."""
    seen = (one["augment"] >= 0).all(1) & (other["augment"] >= 0).all(1)
    assert seen.sum() > EXAMPLES / 2
    unequal = {source for source in one if source != "augment" and one[source] != other[source]}
    return unequal | ({"augment"} if (one["augment"][seen] != other["augment"][seen]).any() else set())


@pytest.mark.parametrize("variant", [name for name in VARIANTS if name != "data"])
def test_a_variant_varies_exactly_its_sources_from_seed_to_seed(variant, make_spec):
    for one, other in itertools.combinations([draws(make_spec(variant, seed)) for seed in SEEDS], 2):
        assert differing(one, other) == set(VARIANTS[variant])


def test_data_varies_the_examples_trained_on_and_no_other_source(make_spec):
    still = [plan_epoch(make_spec("control", 2), EXAMPLES, epoch) for epoch in (0, 1)]
    samples = [trained_on(make_spec("data", seed), EXAMPLES) for seed in SEEDS]
    for seed, sample in zip(SEEDS, samples, strict=True):
        # A bootstrap sample has 1 - 1/e of the examples, here within five standard errors.
        assert abs(len(set(sample.tolist())) / EXAMPLES - (1 - np.exp(-1))) < 5 * 0.31 / np.sqrt(EXAMPLES)
        varied = [plan_epoch(make_spec("data", seed), EXAMPLES, epoch) for epoch in (0, 1)]
        for plan, other in zip(varied, still, strict=True):
            assert (plan.order == sample[other.order]).all()
            assert (plan.order.dtype, plan.dropout.tobytes()) == (other.order.dtype, other.dropout.tobytes())
            # An example is cropped and mirrored as in any other run, each of its copies alike.
            pictures, seen = (
                {tuple(row) for row in np.c_[of.order.ravel(), of.offsets.reshape(-1, 2), of.flips.ravel()]}
                for of in (other, plan)
            )
            in_both = {row[0] for row in pictures} & {row[0] for row in seen}
            assert {row for row in seen if row[0] in in_both} == {row for row in pictures if row[0] in in_both}
    assert len({sample.tobytes() for sample in samples}) == len(SEEDS)
    assert (trained_on(make_spec("algo_impl", 3), EXAMPLES) == np.arange(EXAMPLES)).all()
    together = make_spec("+".join(SOURCES), 3)
    assert (trained_on(together, EXAMPLES) == samples[list(SEEDS).index(3)]).all()
    initial = [draws(make_spec(variant, 3))["init"] for variant in ("data", "control")]
    assert initial[0] == initial[1]


def test_native_noise_leaves_every_example_in_its_place(make_spec):
    places = plan_epoch(make_spec("algo_impl", 2, "noisy"), EXAMPLES, 0).slots
    assert (places == np.arange(places.shape[1])).all()


def test_run_3_of_algo_equals_run_3_of_algo_impl_in_every_algorithmic_draw(make_spec):
    assert differing(draws(make_spec("algo", 3)), draws(make_spec("algo_impl", 3))) == {"impl"}


@pytest.mark.parametrize("source", ALGORITHMIC)
def test_run_3_of_a_single_source_draws_it_as_run_3_of_algo_does(source, make_spec):
    assert differing(draws(make_spec("algo", 3)), draws(make_spec(source, 3))) == set(ALGORITHMIC) - {source}


def test_toolings_share_every_draw(make_spec):
    for variant in ("algo", "control"):
        assert not differing(draws(make_spec(variant, 2)), draws(make_spec(variant, 2, "noisy")))


def test_reduction_order_gives_the_same_batches_and_masks_in_another_order(make_spec):
    still, moved = (plan_epoch(make_spec(variant, 2), EXAMPLES, 0) for variant in ("control", "impl"))
    assert (np.sort(still.order) == np.sort(moved.order)).all()
    assert (still.order != moved.order).any(axis=1).all()
    for name in ("order", "offsets", "flips"):
        assert (in_slots(moved, getattr(moved, name)) == getattr(still, name)).all()
    # Of a layer of six elements.
    masks = [
        keep_mask(
            plan.dropout,
            (np.arange(len(plan.order))[:, None, None], 0, plan.slots[..., None] * 6 + np.arange(6)),
            0.5,
        )
        for plan in (still, moved)
    ]
    assert (masks[0] != masks[1]).any()
    assert (in_slots(moved, masks[1]) == masks[0]).all()


def test_epochs_differ_in_order_pictures_and_places(make_spec):
    one, other = (draws(make_spec("algo_impl", 1), epoch) for epoch in (0, 1))
    assert differing(one, other) == {"shuffle", "augment", "impl"}


def test_a_study_of_another_seed_shares_no_draw(make_spec):
    spec = make_spec("algo_impl", 1)
    assert differing(draws(spec), draws(Spec.read(spec.json | {"study_seed": 8}))) == set(VARIANTS["algo_impl"])


def shares(stream, count):
    """The 53-bit uniforms between -1 and 1 that a stream's normals are the quantiles of."""
    return ((streams.raw(stream, count) >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-52 - 1


def test_a_cut_off_normal_is_its_quantile_to_the_rounding_of_float32():
    stream = 1
    found = streams.truncated_normal(stream, (50_000,))
    exact = np.sqrt(2) * special.erfinv(shares(stream, 50_000) * special.erf(np.sqrt(2)))
    # Half a unit in the last place, and what the fit adds.
    assert (np.abs(found - exact) <= np.abs(exact) * (2.0**-24 + 1.6e-9)).all()


def test_the_fit_of_the_quantiles_is_as_good_as_it_says_from_the_middle_to_both_ends():
    share = np.concatenate([np.geomspace(2.0**-53, 0.09, 2000), np.linspace(0.1, 1 - 2.0**-53, 20_000)])
    fitted = (
        share * streams._polynomial(streams.QUANTILE_P, share**2) / streams._polynomial(streams.QUANTILE_Q, share**2)
    )
    exact = np.sqrt(2) * special.erfinv(share * special.erf(np.sqrt(2)))
    assert np.abs(fitted / exact - 1).max() < 1.6e-9
    assert (np.diff(fitted) > 0).all()


def test_normals_drawn_in_many_blocks_are_those_drawn_in_one():
    many = streams.truncated_normal(6, (2 * streams.BLOCK + 7,))
    assert (streams.truncated_normal(6, (9,)) == many[:9]).all()
    assert len(set(many.tolist())) > 0.99 * many.size


def test_a_number_alone_can_be_drawn_and_nothing_too():
    assert streams.truncated_normal(7, ()).shape == ()
    assert streams.truncated_normal(7, (0, 3)).shape == (0, 3)


def test_keys_are_the_same_where_a_source_may_not_vary_and_others_where_it_may(make_spec):
    one, other = (streams.keys(make_spec("init+impl", seed)) for seed in (1, 2))
    same = {source for source in one if one[source] == other[source]}
    assert same == {"shuffle", "augment", "dropout", "bit"}
    assert one["init"]["replicate"] == 1
    assert one["shuffle"]["replicate"] == 0
    assert int(one["init"]["key"], 16) == streams.key(make_spec("control", 1).study_seed, "init", 1)
