"""Where a program's framework leaves its checkpoints, as far as the program's text says it in plain words."""

import ast
from collections.abc import Iterator, Sequence
from pathlib import Path

from toolnoise.checking import program_text
from toolnoise.checking.program_text import SourceFile

# The argument, the first one too, that names the folder or file of a framework's checkpoints.
NAMED = {
    "TrainingArguments": "output_dir",
    "Seq2SeqTrainingArguments": "output_dir",
    "BackupAndRestore": "backup_dir",
    "CheckpointManager": "directory",
}
CALLBACK, LIGHTNING, KERAS = "ModelCheckpoint", "dirpath", "filepath"
TRAINER, ROOT = "Trainer", "default_root_dir"


def places(program: Sequence[SourceFile]) -> list[str]:
    """The folders and files, each once; the default of Lightning's trainer only if none is named."""
    is_lightning = any("lightning" in name for name in program_text.imported(program))
    calls = [(source.tree, *call) for source in program for call in _calls(source.tree)]
    named = [place for tree, call, name in calls if (place := _named(tree, call, name, is_lightning=is_lightning))]
    if is_lightning and not named:
        named = [_default(tree, call) for tree, call, name in calls if name == TRAINER]
    return list(dict.fromkeys(named))


def _calls(tree: ast.AST) -> Iterator[tuple[ast.Call, str]]:
    """Each call with the last name of what it calls."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute):
            yield node, node.func.id if isinstance(node.func, ast.Name) else node.func.attr


def _named(tree: ast.AST, call: ast.Call, name: str, *, is_lightning: bool) -> str:
    """The folder or file that a call names."""
    of_callback = LIGHTNING if is_lightning else KERAS
    keyword = of_callback if name == CALLBACK else NAMED.get(name)
    if not keyword:
        return ""
    place = _path(tree, _keywords(call).get(keyword, call.args[0] if call.args else None))
    # A file's name may have the number of its epoch in it.
    return str(Path(place).parent) if "{" in place else place


def _default(tree: ast.AST, call: ast.Call) -> str:
    """The folder of a trainer of Lightning that names none."""
    given = _keywords(call)
    plain = isinstance(logger := given.get("logger"), ast.Constant) and logger.value is False
    return str(Path(_path(tree, given.get(ROOT))) / ("checkpoints" if plain else "lightning_logs"))


def _keywords(call: ast.Call) -> dict[str | None, ast.expr]:
    return {keyword.arg: keyword.value for keyword in call.keywords}


def _path(tree: ast.AST, node: ast.AST | None) -> str:
    """A text, or what a name was given, also within os.path.abspath('kept') or Path('kept').resolve(); else nothing."""
    if isinstance(node, ast.Name):
        node = _assigned(tree, node.id)
    if isinstance(node, ast.Call):
        part = node.args[0] if len(node.args) == 1 else getattr(node.func, "value", None)
        return _path(tree, part) if len(node.args) < 2 else ""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _assigned(tree: ast.AST, name: str) -> ast.expr | None:
    """The value that a name is given; none if it is given several."""
    values = [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        if any(isinstance(target, ast.Name) and target.id == name for target in node.targets)
    ]
    return values[0] if len(values) == 1 and not isinstance(values[0], ast.Name) else None
