"""The jobs of overhead: training steps timed kernel by kernel in either mode, each time in a process of its own."""

from toolnoise.steps.reads import KERNEL_TIMES
from toolnoise.steps.step import Parameters, Read, Step
from toolnoise.study import layout
from toolnoise.study.cells import Network, Profile
from toolnoise.study.study import Study


def _overhead(study: Study, network: Network) -> Parameters:
    accelerator = study.tooling(network.hardware)["accelerator"]
    return {**network._asdict(), "accelerator": accelerator, "overhead": study.config["overhead"]}


def _profiles(study: Study, network: Network) -> list[str]:
    """The records of all profiles of the network on the tooling, in either mode."""
    mine = [profile for profile in study.profiles if (profile.model, profile.hardware) == network]
    return [study.path(layout.PROFILE_RECORD, profile) for profile in mine]


ROWS = {
    # What determinism costs: training steps timed kernel by kernel, in either mode, each time in a process of its own.
    "profile": Step(
        "profile_step",
        "time a training step kernel by kernel",
        place=Profile,
        places=lambda study: study.profiles,
        parameters=lambda study, profile: {"spec": study.profile_spec(profile)},
        reads={},
        writes={"out": layout.PROFILE + ".csv", "record": layout.PROFILE_RECORD},
        work="toolnoise.analyses.overhead.profile:profile",
        wanted=("overhead", "model/hardware/mode/repeat of its overhead"),
        tooling=lambda profile: profile.hardware,
        record="record",
        travels="profiles",
        unrepeatable="what it made are times",
    ),
    "measure-overhead": Step(
        "measure_overhead",
        "measure what determinism costs",
        place=Network,
        places=lambda study: study.networks,
        parameters=_overhead,
        reads={"records": Read(_profiles, KERNEL_TIMES, several=True)},
        writes={
            "out-overhead": "results/{study}/metrics/overhead/{model}/{hardware}.csv",
            "out-kernels": "results/{study}/metrics/kernels/{model}/{hardware}.csv",
        },
        work="toolnoise.analyses.overhead.measure:measure",
        wanted=("overhead", "a model and a tooling of its overhead"),
        metrics={
            "out-overhead": ("overhead", "toolnoise.analyses.overhead.metric:OVERHEAD"),
            "out-kernels": ("kernels", "toolnoise.analyses.overhead.metric:KERNELS"),
        },
    ),
}
