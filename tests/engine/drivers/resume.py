"""Train three epochs with each optimiser and write the states after the first and the last.

Given such a file, train the last two epochs only, from the state in it.
"""

import sys

from toolnoise import epoch_plan
from toolnoise.base import arrays
from toolnoise.datasets import prepared
from toolnoise.engines import State
from toolnoise.models.initial import initial_weights
from toolnoise.study import grid
from toolnoise.training import network


def packed(state):
    slots = {f"{slot}:{path}": array for slot, tensors in state.slots.items() for path, array in tensors.items()}
    return {"step": state.step, **{f"weights:{path}": array for path, array in state.weights.items()}, **slots}


def unpacked(found):
    groups = {}
    for name, array in found.items():
        group, _, path = name.partition(":")
        groups.setdefault(group, {})[path] = array
    return State(groups.pop("weights"), {slot: groups[slot] for slot in groups if slot != "step"}, int(found["step"]))


def main(study_file, data_file, out, before=None):
    loaded = grid.load(study_file)
    spec = loaded.spec(loaded.cells[0]._replace(variant="control"), 1)
    data = prepared.load(data_file, spec.recipe["normalise"])
    engine, _ = network.start_engine(spec)
    found = {}
    for optimizer in ("adam", "sgd"):
        parameters = network.build_model(engine, spec, data)
        engine.compile(spec.recipe | {"optimizer": optimizer}, data.train)
        start = State(initial_weights(parameters, spec.study_seed, 0, "model"), {}, 0)
        if before:
            saved = arrays.read_npz(before).items()
            after_one = f"0/{optimizer}/"
            start = unpacked({name.removeprefix(after_one): array for name, array in saved if after_one in name})
        engine.restore(start)
        for epoch in range(1 if before else 0, 3):
            engine.epoch(epoch_plan.plan_epoch(spec, len(data.train.labels), epoch))
            if epoch != 1:
                found |= {f"{epoch}/{optimizer}/{name}": array for name, array in packed(engine.state()).items()}
    arrays.write_npz(out, found)


main(*sys.argv[1:])
