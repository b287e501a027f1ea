"""Eight steps in float16 from a loss scale so high that the first ones overflow: the state that they end in."""

import sys

from overflowing import begin

from toolnoise.base import arrays


def main(study_file, data_file, out):
    engine, *_, plan = begin(study_file, data_file)
    engine.epoch(plan)
    state = engine.state()
    arrays.write_npz(out, {**state.slots["loss_scale"], **state.weights})


main(*sys.argv[1:])
