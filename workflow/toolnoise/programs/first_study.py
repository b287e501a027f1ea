"""`toolnoise init`: a commented study file for the Keras builder or the training program in this folder.

It asks nothing that it can find out: it reads the sources, and never imports or runs them. The text of the study is a
template in resources/templates; an existing file is never overwritten.
"""

import ast
import importlib.util
import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from string import Template
from typing import NamedTuple

from toolnoise.base.arrays import npz_names
from toolnoise.base.errors import BadInput
from toolnoise.base.noise_sources import ALGORITHMIC
from toolnoise.base.program import ROOT
from toolnoise.checking import program_text
from toolnoise.checking.program_text import HELPED, SourceFile
from toolnoise.engines import FRAMEWORKS
from toolnoise.study import strict_yaml

FILE = "study.yaml"
KINDS = ("command", "builder")
# The command that copies existing runs and writes their study.
ADOPT = "toolnoise adopt 'runs/{arm}/seed{seed}/preds.npy' --labels y.npy --name mine"
TEMPLATES = ROOT / "resources/templates"
# The CPU tooling of each framework.
PROCESSORS = {"tensorflow": "cpu", "jax": "cpu-jax", "torch": "cpu-torch"}
# Options by which programs take seeds and the output folder of a run, the clearest first.
OPTIONS = {
    "init": ("--init-seed", "--model-seed", "--seed"),
    "shuffle": ("--shuffle-seed", "--data-seed"),
    "augment": ("--augment-seed", "--augmentation-seed"),
    "dropout": ("--dropout-seed",),
    "out": ("--out", "--out-dir", "--output", "--output-dir"),
}
DETERMINISTIC = "--deterministic"
PACKAGES = ("numpy", "torch", "tensorflow", "keras", "jax", "sklearn", "xgboost", "lightning", "transformers", "pandas")


class Program(NamedTuple):
    """A training program: its file, its option for each placeholder, the sources that it separates."""

    file: str
    options: dict[str, str]
    sources: tuple[str, ...]
    deterministic: bool

    @property
    def command(self) -> str:
        """The command line, with placeholders."""
        words = [f"{option} {{{name}}}" for name, option in self.options.items()]
        return " ".join(["python", shlex.quote(self.file), *words])


def write(kind: str | None) -> str:
    """Write the study file, and return a report for a person."""
    if kind == "adopted":
        raise BadInput("command line", kind, "the runs themselves make the study", f"such as: {ADOPT}")
    if kind not in (None, *KINDS):
        raise BadInput("command line", "KIND", f"found {kind!r}", f"allowed: {', '.join(KINDS)}")
    if Path(FILE).exists():
        raise BadInput(FILE, "", "exists already, and nothing is written over it", "toolnoise run, or another folder")
    texts = [
        text for path in sorted(Path().glob("*.py")) for text in program_text.program_files([path.name], Path())[:1]
    ]
    builders, programs = list(_builders(texts)), [program for program in map(_program, texts) if program.sources]
    kind = kind or ("builder" if builders else "command")
    summary, values = _of_builders(builders) if kind == "builder" else _of_program(programs)
    template = Template((TEMPLATES / f"{kind}.yaml").read_text("utf-8"))
    with Path(FILE).open("x", encoding="utf-8") as file:
        file.write(template.substitute(values, study=_name(Path.cwd().name), found=summary))
    return f"{FILE}: a study of a {kind}. {summary}\nRead it, then: toolnoise run -n"


def _of_program(programs: Sequence[Program]) -> tuple[str, dict[str, str]]:
    likely = [program for program in programs if program.file.startswith("train")] or programs
    if likely:
        chosen, others = likely[0], [program.file for program in programs if program != likely[0]]
        summary = f"Found {chosen.file}" + (f"; {', '.join(others)} may be meant instead." if others else ".")
    else:
        chosen = Program("train.py", {"init": "--seed", "shuffle": "--data-seed", "out": "--out"}, ALGORITHMIC, False)
        summary = "No program with seeds was found here: this is an example, to be changed."
    key = f'deterministic: "{DETERMINISTIC}"'
    python = _interpreter(chosen.file)
    if likely:
        _warn(python, chosen)
    return summary, {
        **_tooling(python),
        "command": json.dumps(chosen.command),
        "sources": ", ".join(chosen.sources),
        "deterministic": f"    {key}" if chosen.deterministic else f"    # {key}",
    }


class Interpreter(NamedTuple):
    """A Python: its file, the virtual environment that it belongs to, the packages that it lacks."""

    file: str
    environment: str
    missing: list[str]


def _interpreter(program: str) -> Interpreter:
    """The Python that a person starts here, with the packages that a program imports and it lacks."""
    command = shutil.which("python") or shutil.which("python3") or sys.executable
    imported = program_text.imported_modules(program_text.program_files([program], Path())[:1])
    wanted = [name for name in PACKAGES if name in imported]
    # Looking for a package does not run it.
    code = (
        "import importlib.util as util, json, sys; place = sys.prefix if sys.prefix != sys.base_prefix else ''; "
        "print(json.dumps([sys.executable, place, [name for name in sys.argv[1:] if util.find_spec(name) is None]]))"
    )
    done = subprocess.run([command, "-c", code, *wanted], capture_output=True, text=True)
    return Interpreter(*json.loads(done.stdout)) if done.returncode == 0 else Interpreter(command, "", [])


def _warn(python: Interpreter, program: Program) -> None:
    """Warn of problems that would make a study fail, before anything runs."""
    lines = []
    if python.missing:
        lines.append(f"{python.file} lacks {', '.join(python.missing)}; name another Python under hardware")
    text = Path(program.file).read_text("utf-8")
    if "out" not in program.options and "TOOLNOISE_OUT" not in text and not HELPED.search(text):
        lines.append("it leaves nothing in TOOLNOISE_OUT, as a study needs; `toolnoise check --output FILE` does not")
    for line in lines:
        print(f"{program.file}: warning: {line}", file=sys.stderr)


def _tooling(python: Interpreter) -> dict[str, str]:
    """The tooling of a study whose programs have another interpreter than the workflow."""
    if Path(python.file).parent == Path(sys.executable).parent:
        return {"hardware": "command", "tooling": ""}
    entry = f"here: {{ engine: command, accelerator: cpu, python: {json.dumps(python.environment or python.file)} }}"
    lines = ("# The Python that was found here; the workflow has another.", "hardware:", f"  {entry}")
    return {"hardware": "here", "tooling": "\n".join(["", *lines, ""])}


def _of_builders(builders: Sequence[str]) -> tuple[str, dict[str, str]]:
    if builders:
        summary = f"Found {', '.join(builders)}."
    else:
        builders = ["my_model:build"]
        summary = "No function that returns a Keras model was found here: this is an example, to be changed."
    names = ["mine"] if len(builders) == 1 else [_name(builder.removesuffix(":build")) for builder in builders]
    entries = [
        f'  {name}: {{ builder: "{builder}", options: {{}} }}' for name, builder in zip(names, builders, strict=True)
    ]
    data, dataset, entry = _data()
    framework = next(filter(importlib.util.find_spec, FRAMEWORKS), FRAMEWORKS[0])
    return summary, {
        "models": "\n".join(entries),
        "names": ", ".join(names),
        "data": data,
        "dataset": dataset,
        "datasets": entry,
        "hardware": PROCESSORS[framework],
    }


def _data() -> tuple[str, str, str]:
    """The data found here: a sentence about them, the data set's name, and its entry."""
    parts = ("train", "test")
    for path in sorted(Path().iterdir()):
        if path.suffix == ".npz" and _is_data(path):
            return f"Found {path}.", "mine", f"  mine: {{ reader: npz, path: {json.dumps(path.name)} }}"
        if path.is_dir() and all((path / part).is_dir() for part in parts):
            return f"Found {path}/.", "mine", f"  mine: {{ reader: image-folder, path: {json.dumps(path.name)} }}"
    return (
        "No data was found here: these are scikit-learn's digits. Your own: an .npz file, or a folder of images.",
        "digits",
        "  # mine: { reader: npz, path: my-data.npz }\n  digits: { reader: digits }",
    )


def _is_data(path: Path) -> bool:
    try:
        return {f"{part}_{kind}" for part in ("train", "test") for kind in ("images", "labels")} <= set(npz_names(path))
    except BadInput:
        return False


def _builders(texts: Iterable[SourceFile]) -> Iterator[str]:
    """Every function that takes a shape and a number of classes and returns a Keras model, as module:function."""
    for text in texts:
        if not {"keras", "tensorflow"} & program_text.imported_modules([text]):
            continue
        for node in text.tree.body:
            if isinstance(node, ast.FunctionDef) and _takes_two(node.args) and _returns_model(node):
                yield f"{Path(text.file).stem}:{node.name}"


def _takes_two(arguments: ast.arguments) -> bool:
    places = [*arguments.posonlyargs, *arguments.args]
    required = len(places) - len(arguments.defaults)
    return len(places) >= 2 and required <= 2 and all(arguments.kw_defaults)


def _returns_model(function: ast.FunctionDef) -> bool:
    models = {
        target.id
        for node in ast.walk(function)
        if isinstance(node, ast.Assign) and _is_model(node.value)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    values = [node.value for node in ast.walk(function) if isinstance(node, ast.Return)]
    return any(_is_model(value) or (isinstance(value, ast.Name) and value.id in models) for value in values)


def _is_model(value: ast.expr | None) -> bool:
    name = ast.unparse(value.func).rpartition(".")[2] if isinstance(value, ast.Call) else ""
    return name in ("Model", "Sequential")


def _program(text: SourceFile) -> Program:
    words = {program_text.canonical_option(option): option for option in program_text.options_of([text])}
    options = {name: words[next(filter(words.get, known))] for name, known in OPTIONS.items() if words.keys() & known}
    read = program_text.seeds_read([text])
    sources = tuple(source for source in ALGORITHMIC if source in options or source in read)
    return Program(text.file, options, sources, DETERMINISTIC in words)


def _name(text: str) -> str:
    """A text as a name in a study, in YAML: quoted if YAML would read it as something else."""
    name = re.sub(r"[^A-Za-z0-9_+-]+", "-", text).strip("-_+")[:64] or "mine"
    try:
        return name if strict_yaml.load_yaml(name) == name else json.dumps(name)
    except ValueError:
        return json.dumps(name)
