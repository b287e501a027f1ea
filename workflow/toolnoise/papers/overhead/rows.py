"""The jobs of overhead: training steps timed kernel by kernel in either mode, each time in a process of its own."""

from toolnoise.steps.reads import KERNEL_TIMES
from toolnoise.steps.step import JobRecord, Needs, Parameters, Read, Step, Where, Work, Write, metric
from toolnoise.study import layout
from toolnoise.study.cells import Network, Profile
from toolnoise.study.study import Study


def _overhead(study: Study, network: Network) -> Parameters:
    accelerator = study.tooling(network.hardware)["accelerator"]
    return {**network._asdict(), "accelerator": accelerator, "overhead": study.config["overhead"]}


def _profiles(study: Study, network: Network) -> list[str]:
    """The records of all profiles of the network on the tooling, in either mode."""
    chosen = [profile for profile in study.profiles if (profile.model, profile.hardware) == network]
    return [study.path(layout.PROFILE_RECORD, profile) for profile in chosen]


ROWS = {
    "profile": Step(
        "profile_step",
        "time a training step kernel by kernel",
        where=Where(Profile, lambda study: study.profiles, "overhead", "model/hardware/mode/repeat of its overhead"),
        parameters=lambda study, profile: {"spec": study.profile_spec(profile).as_json()},
        reads={},
        writes={
            "out": Write(layout.PROFILE + ".csv", timed=True),
            "record": Write(layout.PROFILE_RECORD, timed=True),
        },
        work=Work("toolnoise.papers.overhead.profile:profile"),
        needs=Needs(tooling=lambda profile: profile.hardware),
        record=JobRecord("record", "profiles"),
        unrepeatable="what it made are times",
    ),
    "measure-overhead": Step(
        "measure_overhead",
        "measure what determinism costs",
        where=Where(Network, lambda study: study.networks, "overhead", "a model and a tooling of its overhead"),
        parameters=_overhead,
        reads={"records": Read(_profiles, KERNEL_TIMES, several=True)},
        writes={
            "out-overhead": metric("overhead", "{model}/{hardware}", "toolnoise.papers.overhead.metric"),
            "out-kernels": metric("kernels", "{model}/{hardware}", "toolnoise.papers.overhead.metric"),
        },
        work=Work("toolnoise.papers.overhead.measure:measure"),
    ),
}
