"""What a program's text says of its checkpoints: where they are, and what changes in training and is not in them.

A state counts as kept if the program asks for it and gives it back somewhere. Nothing is run.
"""

import ast
import itertools
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from toolnoise.checking.program_text import SourceFile
from toolnoise.checking.reader import DROPOUT, LOADER, Reader, is_off

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
LIGHTNING_TRAINER = r".*lightning\b.*\.Trainer"
TRAINED = ("optimiser", "scheduler of the learning rate", "scaler of the loss")
SAVED = {LIGHTNING_TRAINER: TRAINED, r"transformers\.(Seq2Seq)?Trainer": (*TRAINED, *STATES)}
ARGUMENTS = re.compile(r"transformers\.(Seq2Seq)?TrainingArguments")
# Arguments of Hugging Face's that save or restore less than all.
LESS = {
    "save_only_model": "the optimiser, the scheduler and the states of the generators",
    "ignore_data_skip": "the place within the epoch",
}
# Layers of Keras that draw; a backup has the optimiser, and not what these have drawn (3.15).
KERAS_DRAWS = re.compile(r"(tensorflow\.)?keras\.layers\.(\w*Dropout\w*|Gaussian\w+|Random\w+)")
SEEDS = re.compile(r"(seed|default_rng|get_state|set_state|getstate|setstate|rng_state\w*)$")
SAVES = re.compile(r"(torch\.save|\.save|numpy\.savez?(_compressed)?|pickle\.dump|\.save_checkpoint)$")
# The argument, the first one too, that names the folder or file of a framework's checkpoints.
NAMED = {
    "TrainingArguments": "output_dir",
    "Seq2SeqTrainingArguments": "output_dir",
    "BackupAndRestore": "backup_dir",
    "CheckpointManager": "directory",
}
CALLBACK, LIGHTNING, KERAS = "ModelCheckpoint", "dirpath", "filepath"
TRAINER, ROOT = "Trainer", "default_root_dir"


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
            found.append(Omission(what, *reader.place(node), remedy))
    return found


_Places = Iterator[tuple[str, ast.AST, str]]


def _frameworks(reader: Reader, names: set[str]) -> _Places:
    """What a framework does not restore, by itself or as it is told."""
    lightning = any(re.fullmatch(LIGHTNING_TRAINER, name) for name in names)
    backup = any(name.endswith("BackupAndRestore") for name in names)
    for call, name in reader.calls:
        given = reader.keywords(call)
        if backup and KERAS_DRAWS.fullmatch(name) and not is_off(reader.argument(call, "rate", 0)):
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
    both = {"state_dict", "load_state_dict"}
    for name, value in reader.assigned.items():
        if not isinstance(value, ast.Call):
            continue
        maker = reader.name(value.func)
        for what, pattern in MAKERS.items():
            if pattern.fullmatch(maker) and what not in saved and not both <= _called(reader, name, f"self.{name}"):
                yield f"the {what}", value, f"save {name}.state_dict(), and load it"
                break


def _called(reader: Reader, *objects: str) -> set[str]:
    """The methods of an object, which has one of these names, that are called."""
    methods = [call.func for call, _ in reader.calls if isinstance(call.func, ast.Attribute)]
    return {method.attr for method in methods if ast.unparse(method.value) in objects}


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
                called = _called(reader, ast.unparse(given))
                if not ({"get_state", "set_state"} <= called or "manual_seed" in called):
                    yield what, call, f"save {ast.unparse(given)}.get_state(), and set it"
                continue
        if kind and kind not in kept and (kind, what) not in told and not (kind == "numpy" and whole):
            told.add((kind, what))
            asks = STATES[kind][0].split(".")[-1].rstrip("$")
            yield what, call, f"save the state of {kind}'s generator ({asks}), and set it"


def _orders(reader: Reader, names: set[str]) -> _Places:
    """Samplers whose epoch starts anew, and checkpoints within an epoch without the place in it."""
    within = False
    for call, name in reader.calls:
        if name.endswith(".set_epoch") and call.args and _starts_anew(reader, call.args[0]):
            remedy = f"give {ast.unparse(call.func)} the number of the epoch in the whole training"
            yield "the sampler's epoch", call, remedy
        loops = [above for above in reader.parents(call) if isinstance(above, ast.For | ast.While)]
        if SAVES.search(name) and len(loops) > 1:
            saves_place = _saves_place(call, loops[0])
            within |= saves_place
            if not saves_place:
                yield "the place within the epoch", call, "save the number of the batch too, and skip those before it"
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


def places(program: Sequence[SourceFile]) -> list[str]:
    """Where a program's framework leaves its checkpoints, as far as its text says it in plain words."""
    calls = [(reader, call, name) for reader in map(Reader, program) for call, name in reader.calls]
    named = [place for call in calls if (place := _named(*call))]
    return list(dict.fromkeys(named or [place for call in calls if (place := _default(*call))]))


def _named(reader: Reader, call: ast.Call, name: str) -> str:
    """The folder or file that a call names."""
    last = name.rpartition(".")[2]
    of_callback = LIGHTNING if "lightning" in name else KERAS
    keyword = of_callback if last == CALLBACK else NAMED.get(last, "")
    place = _path(reader, reader.argument(call, keyword, 0)) if keyword else ""
    # A file's name may have the number of its epoch in it.
    return str(Path(place).parent) if "{" in place else place


def _default(reader: Reader, call: ast.Call, name: str) -> str:
    """The folder of a trainer of Lightning that names none."""
    if name.rpartition(".")[2] != TRAINER or "lightning" not in name:
        return ""
    given = reader.keywords(call)
    plain = isinstance(logger := given.get("logger"), ast.Constant) and logger.value is False
    return str(Path(_path(reader, given.get(ROOT))) / ("checkpoints" if plain else "lightning_logs"))


def _path(reader: Reader, node: ast.AST | None) -> str:
    """A text, or what a name was given, also within os.path.abspath('kept') or Path('kept').resolve(); else nothing."""
    if isinstance(node, ast.Name):
        node = reader.assigned.get(node.id)
    if isinstance(node, ast.Call):
        part = node.args[0] if len(node.args) == 1 else getattr(node.func, "value", None)
        return _path(reader, part) if len(node.args) < 2 else ""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
