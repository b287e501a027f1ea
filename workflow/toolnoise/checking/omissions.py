"""What a program changes while it trains and does not save with its checkpoint, as far as its text shows.

A state counts as kept if the program asks for it and gives it back somewhere. Nothing is run.
"""

import ast
import itertools
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from toolnoise.checking.program_text import SourceFile
from toolnoise.checking.reader import Reader, is_off
from toolnoise.checking.suspects import DROPOUT, LOADER

# The makers of objects that have a state, by what a person calls them.
MAKERS = {
    "average of the weights": re.compile(r".*(AveragedModel|EMA|Ema|ExponentialMovingAverage)\w*"),
    "scheduler of the learning rate": re.compile(r"torch\.optim\.lr_scheduler\.\w+"),
    "scaler of the loss": re.compile(r".*GradScaler"),
    "optimiser": re.compile(r"torch\.optim\.(\w+\.)*[A-Z]\w+"),
}
STATES = {
    "torch": (r"torch\.(random\.)?get_rng_state$", r"torch\.(random\.)?set_rng_state$"),
    "cuda": (r"torch\.cuda\.get_rng_state\w*$", r"torch\.cuda\.set_rng_state\w*$"),
    "numpy": (r"numpy\.random\.get_state$", r"numpy\.random\.set_state$"),
    "random": (r"random\.getstate$", r"random\.setstate$"),
}
DRAWS = {
    "torch": re.compile(r"torch\.(rand\w*|normal|bernoulli|multinomial)$"),
    "numpy": re.compile(r"numpy\.random\.[a-z]\w+$"),
    "random": re.compile(r"random\.[a-z]\w+$"),
}
# What frameworks save with a checkpoint, if one is used: objects by what a person calls them, generators by kind.
SAVED = {
    r".*lightning\b.*\.Trainer": ("optimiser", "scheduler of the learning rate", "scaler of the loss"),
    r"transformers\.(Seq2Seq)?Trainer": (
        *("optimiser", "scheduler of the learning rate", "scaler of the loss"),
        *("torch", "cuda", "numpy", "random"),
    ),
}
ARGUMENTS = re.compile(r"transformers\.(Seq2Seq)?TrainingArguments")
# Arguments of Hugging Face's that save or restore less than all.
LESS = {
    "save_only_model": "the optimiser, the scheduler and the states of the generators",
    "ignore_data_skip": "the place within the epoch",
}
# Layers of Keras that draw; a backup has the optimiser, and not what these have drawn (3.15).
KERAS_DRAWS = re.compile(r"(tensorflow\.)?keras\.layers\.(\w*Dropout\w*|Gaussian\w+|Random\w+)")
LIGHTNING_TRAINER = re.compile(r".*lightning\b.*\.Trainer")
SEEDS = re.compile(r"(seed|default_rng|get_state|set_state|getstate|setstate|rng_state\w*)$")
SAVES = re.compile(r"(torch\.save|\.save|numpy\.savez?(_compressed)?|pickle\.dump|\.save_checkpoint)$")


class Omission(NamedTuple):
    """A state that a checkpoint lacks: what it is, where it is made or drawn from, what to do."""

    what: str
    file: str
    line: int
    code: str
    remedy: str


def omissions(program: Sequence[SourceFile]) -> list[Omission]:
    """All states that a program's checkpoint seems to lack."""
    readers = [Reader(source) for source in program]
    names = {name for reader in readers for _, name in reader.calls}
    saved = {
        part for maker, parts in SAVED.items() if any(re.fullmatch(maker, name) for name in names) for part in parts
    }
    found = []
    for reader in readers:
        places = _objects(reader, saved), _generators(reader, names, saved), _orders(reader, names)
        for what, node, remedy in itertools.chain(*places, _frameworks(reader, names)):
            line = node.lineno
            found.append(Omission(what, reader.source.file, line, reader.source.lines[line - 1].strip(), remedy))
    return found


_Places = Iterator[tuple[str, ast.AST, str]]


def _frameworks(reader: Reader, names: set[str]) -> _Places:
    """What a framework does not restore, by itself or as it is told."""
    lightning = any(LIGHTNING_TRAINER.fullmatch(name) for name in names)
    backup = any(name.endswith("BackupAndRestore") for name in names)
    for call, name in reader.calls:
        given = reader.keywords(call)
        rate = call.args[0] if call.args else given.get("rate")
        if backup and KERAS_DRAWS.fullmatch(name) and not is_off(rate):
            remedy = "Keras's backup lacks it: save the seed_generator.state of each such layer, and assign it"
            yield "the state of the generator that dropout draws from", call, remedy
        if ARGUMENTS.fullmatch(name):
            for argument in LESS.keys() & given.keys():
                if not is_off(given[argument]):
                    yield LESS[argument], call, f"leave {argument} out"
        if lightning and name == LOADER and "sampler" in given and not is_off(given.get("num_workers")):
            # Its workers are given the first batches before the sampler is told its epoch (2.5.3 to 2.6.6 at least).
            remedy = "Lightning 2.5.3 and later begin with the order of epoch 0: no workers, or Lightning 2.5.2"
            yield "the sampler's epoch", call, remedy


def _objects(reader: Reader, saved: set[str]) -> _Places:
    """Objects with a state that is not both saved and loaded."""
    for name, value in reader.assigned.items():
        if not isinstance(value, ast.Call):
            continue
        maker = reader.name(value.func)
        for what, pattern in MAKERS.items():
            if pattern.fullmatch(maker) and what not in saved and not _kept(reader, name):
                yield f"the {what}", value, f"save {name}.state_dict(), and load it"
                break


def _kept(reader: Reader, name: str) -> bool:
    """Whether an object's state is asked for, and given back."""
    called = {
        call.func.attr
        for call, _ in reader.calls
        if isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value).removeprefix("self.") == name
    }
    return {"state_dict", "load_state_dict"} <= called


def _generators(reader: Reader, names: set[str], saved: set[str]) -> _Places:
    """Draws from generators whose states are not both saved and set."""
    kept = saved | {
        kind
        for kind, patterns in STATES.items()
        if all(any(re.match(each, name) for name in names) for each in patterns)
    }
    whole = any(name.endswith("bit_generator.state") for name in names)
    told = set()
    for call, name in reader.calls:
        kind = next((kind for kind, pattern in DRAWS.items() if pattern.match(name) and not SEEDS.search(name)), None)
        what = "the state of the generator"
        if DROPOUT.fullmatch(name):
            kind, what = "torch", "the state of the generator that dropout draws from"
        elif name == LOADER and not is_off(reader.keywords(call).get("shuffle")):
            given = reader.keywords(call).get("generator")
            kind, what = "torch", "the state of the generator that shuffles"
            if given is not None:
                if not _kept_generator(reader, given):
                    yield what, call, f"save {ast.unparse(given)}.get_state(), and set it"
                continue
        if kind and kind not in kept and (kind, what) not in told and not (kind == "numpy" and whole):
            told.add((kind, what))
            yield (
                what,
                call,
                f"save the state of {kind}'s generator ({STATES[kind][0].split('.')[-1].rstrip('$')}), and set it",
            )


def _kept_generator(reader: Reader, given: ast.AST) -> bool:
    name = ast.unparse(given)
    called = {
        call.func.attr
        for call, _ in reader.calls
        if isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value) == name
    }
    return {"get_state", "set_state"} <= called or "manual_seed" in called


def _orders(reader: Reader, names: set[str]) -> _Places:
    """Samplers whose epoch starts anew, and checkpoints within an epoch without the place in it."""
    within = False
    for call, name in reader.calls:
        if name.endswith(".set_epoch") and call.args and _starts_anew(reader, call.args[0]):
            remedy = f"give {ast.unparse(call.func)} the number of the epoch in the whole training"
            yield "the sampler's epoch", call, remedy
        loops = [above for above in reader.parents(call) if isinstance(above, ast.For | ast.While)]
        if SAVES.search(name) and len(loops) > 1 and not _saves_place(call, loops[0]):
            yield "the place within the epoch", call, "save the number of the batch too, and skip those before it"
        elif SAVES.search(name) and len(loops) > 1:
            within = True
    if within and any(re.match(STATES["torch"][1], name) for name in names):
        # What was restored has moved on before the first batch.
        for call, name in reader.calls:
            if name == LOADER and "generator" not in reader.keywords(call):
                yield "the draw of a loader's iterator", call, "give the loader a generator of its own"


def _starts_anew(reader: Reader, epoch: ast.AST) -> bool:
    """Whether a number is counted from 0 in every process."""
    for above in reader.parents(epoch):
        if not (isinstance(above, ast.For) and isinstance(above.iter, ast.Call)):
            continue
        names = [node.id for node in ast.walk(above.target) if isinstance(node, ast.Name)]
        if ast.unparse(epoch) in names:
            counts = {"range": names, "enumerate": names[:1]}.get(reader.name(above.iter.func), [])
            return ast.unparse(epoch) in counts and len(above.iter.args) == 1
    return False


def _saves_place(call: ast.Call, loop: ast.AST) -> bool:
    """Whether what counts the batches of the inner loop is among what is saved."""
    targets = {node.id for node in ast.walk(getattr(loop, "target", ast.Tuple([]))) if isinstance(node, ast.Name)}
    counters = {
        node.target.id
        for node in ast.walk(loop)
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name)
    }
    used = {node.id for node in ast.walk(call) if isinstance(node, ast.Name)}
    return bool((targets | counters) & used)
