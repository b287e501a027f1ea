"""Scratch files belong to who holds them, files are written whole or not at all, specs and values read as written."""

import copy
import errno
import io
import json
import os
import signal
import subprocess
import sys
import threading
import time
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from toolnoise.base import arrays, errors, files, scratch, shapes
from toolnoise.base.errors import BadInput, errors_in_one_line
from toolnoise.base.job import values_as_text, values_in_text
from toolnoise.base.metric_files import VERSION
from toolnoise.base.metric_files import read_metrics as read_table
from toolnoise.base.metric_files import write_metrics as write_table
from toolnoise.base.shapes import AMOUNT, COUNT, FLAG, INTEGER, TEXT
from toolnoise.base.spec import Spec
from toolnoise.checking import outcome
from toolnoise.formulas.stability import STABILITY
from toolnoise.papers.frameworks.pair import CROSS_TOOLING
from toolnoise.provenance import statements
from toolnoise.stats.estimates import Estimate
from toolnoise.study import config
from toolnoise.study.variants import variant_named

HOLDER = """
import sys; from pathlib import Path; from toolnoise.base import scratch
with scratch.{how}(Path(sys.argv[1])) as made:
    print(made, flush=True); sys.stdin.read()
"""


@pytest.fixture
def held():
    """A process that holds something; once it is killed, what it held is left behind."""
    running = []

    def start(how, path):
        command = [sys.executable, "-c", HOLDER.format(how=how), str(path)]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        running.append(process)
        return process, process.stdout.readline().strip()

    yield start
    for process in running:
        process.kill()
        process.communicate()


def kill(process):
    process.send_signal(signal.SIGKILL)
    process.wait()


def here(folder):
    return sorted(path.name for path in folder.iterdir())


def test_the_next_writer_removes_what_a_killed_one_left_and_nothing_of_a_living_one(held, tmp_path):
    place = tmp_path / "weights.npz"
    (killed, left), (_, kept) = held("file", place), held("file", place)
    (tmp_path / ".weights.npz.backup").write_text("a person's")
    kill(killed)
    files.write_text(place, "whole")
    assert here(tmp_path) == sorted([os.path.basename(kept), ".weights.npz.backup", "weights.npz"])  # noqa: PTH119
    assert left != kept


def test_clean_removes_what_nobody_holds_wherever_it_lies(held, tmp_path):
    deep = tmp_path / "runs/1"
    deep.mkdir(parents=True)
    killed = [held("file", deep / "run.json"), held("claim", deep / "run.json"), held("folder", tmp_path)]
    _, alive = held("file", deep / "run.json")
    (deep / ".hidden").write_text("")
    for process, _ in killed:
        kill(process)
    removed = scratch.clean(tmp_path)
    assert len(removed) == 3
    assert here(tmp_path) == ["runs"]
    assert here(deep) == sorted([".hidden", os.path.basename(alive)])  # noqa: PTH119
    assert scratch.clean(tmp_path) == []


def test_an_output_is_made_by_one_process_at_a_time(held, tmp_path):
    first, _ = held("claim", tmp_path / "out.csv")
    with pytest.raises(BadInput, match=r"out\.csv: another process is making it"), scratch.claim(tmp_path / "out.csv"):
        pass
    with scratch.claim(tmp_path / "other.csv"):
        pass
    kill(first)
    with scratch.claim(tmp_path / "out.csv"):
        assert here(tmp_path) == [".out.csv.lock"]
    assert here(tmp_path) == []


def test_who_waits_comes_after_the_other(tmp_path):
    place, order = tmp_path / "file.bin", []

    def second():
        with scratch.claim(place, wait=True):
            order.append("second")

    with scratch.claim(place):
        other = threading.Thread(target=second)
        other.start()
        other.join(0.2)
        order.append("first")
    other.join()
    assert order == ["first", "second"]
    assert here(tmp_path) == []


# Files


ARRAYS = {"b/kernel": np.arange(6, dtype=np.float32).reshape(2, 3), "a": np.array(["é"]), "empty": np.zeros((0, 2))}


@pytest.fixture
def place(tmp_path):
    """Where a file is to be written, in a folder that may not be there yet."""
    return tmp_path / "folder" / "file.txt"


@pytest.mark.parametrize(("mask", "mode"), [(0o077, 0o600), (0o002, 0o664)])
def test_permissions_follow_the_umask(mask, mode, place):
    before = os.umask(mask)
    try:
        files.write_text(place, "")
        assert os.umask(mask) == mask, "the umask itself is left alone"
    finally:
        os.umask(before)
    assert place.stat().st_mode & 0o777 == mode


def test_equal_arrays_are_equal_bytes_whenever_they_are_written(tmp_path, monkeypatch):
    arrays.write_npz(tmp_path / "one.npz", ARRAYS)
    monkeypatch.setattr(time, "time", lambda: 2e9)
    arrays.write_npz(tmp_path / "other.npz", ARRAYS)
    assert (tmp_path / "one.npz").read_bytes() == (tmp_path / "other.npz").read_bytes()


# How each kind of file is written, and read.
KINDS = {
    "npz": (lambda path: arrays.write_npz(path, ARRAYS), arrays.read_npz),
    "compressed.npz": (lambda path: np.savez_compressed(path, **ARRAYS), arrays.read_npz),
    "npy": (lambda path: arrays.write_npy(path, ARRAYS["b/kernel"]), arrays.read_npy),
    "json": (lambda path: files.write_json(path, {"seeds": [1, 2]}), files.read_json),
}


@pytest.fixture(params=KINDS)
def kind(request, tmp_path):
    """A whole file of some kind, and its reader."""
    path = tmp_path / f"file.{request.param}"
    write, read = KINDS[request.param]
    write(path)
    return path, read


@pytest.mark.parametrize("kept", [0, 0.1, 0.95])
def test_a_truncated_or_missing_file_is_one_line(kept, kind, refused):
    path, read = kind
    whole = path.read_bytes()
    path.write_bytes(whole[: int(kept * len(whole))])
    assert refused(read, path).startswith(f"{path}: damaged or truncated (")
    path.unlink()
    assert refused(read, path).startswith(f"{path}: no such file; expected a")


def test_a_damaged_byte_anywhere_is_one_line_or_harms_nothing(kind):
    path, read = kind
    whole = path.read_bytes()
    refusals = 0
    for place in range(len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x81]) + whole[place + 1 :])
        try:
            read(path)
        except BadInput:
            refusals += 1
    assert refusals > len(whole) / 4


def test_nothing_is_pickled_and_a_pickle_is_refused_unread(tmp_path, refused):
    objects = np.array([{}, None], object)
    for write, value in ((arrays.write_npz, {"a": objects}), (arrays.write_npy, objects)):
        with pytest.raises(ValueError, match="allow_pickle"):
            write(tmp_path / "file", value)
    assert not list(tmp_path.iterdir())
    np.savez(tmp_path / "file.npz", a=objects)
    assert "allow_pickle" in refused(arrays.read_npz, tmp_path / "file.npz")
    np.save(tmp_path / "file.npy", objects)
    assert "Python objects" in refused(arrays.read_npy, tmp_path / "file.npy")


AMBIGUOUS = {
    '{"a": {"b": 1, "c": 2, "b": 3}}': "key 'b' is repeated",
    '{"a": NaN}': "NaN is not a finite number",
    "[-Infinity]": "-Infinity is not a finite number",
    "1e999": "1e999 is not a finite number",
}


@pytest.mark.parametrize("read", [files.read_json, config.read_yaml])
@pytest.mark.parametrize(("text", "found"), AMBIGUOUS.items())
def test_json_that_two_readers_could_understand_differently_is_one_line(text, found, read, tmp_path, refused):
    (tmp_path / "study.json").write_text(text)
    assert found in refused(read, tmp_path / "study.json")


@pytest.mark.parametrize(
    "read",
    [files.read_json, files.sha256, arrays.read_npz, arrays.read_npy, config.read_yaml, statements.read_statement],
)
def test_a_pipe_or_a_device_where_a_file_belongs_is_refused_at_once(read, tmp_path):
    os.mkfifo(tmp_path / "pipe.yaml")
    for path in (tmp_path / "pipe.yaml", Path("/dev/zero")):
        with pytest.raises(BadInput, match="a pipe or a device"):
            read(path)


@pytest.mark.parametrize("read", [files.read_json, files.read_bytes, config.read_yaml])
def test_a_text_that_would_fill_the_memory_is_refused_with_the_limit(read, tmp_path):
    with (tmp_path / "study.json").open("wb") as file:
        file.truncate(3 * 10**9)
    with pytest.raises(BadInput, match=f"has 3000000000 bytes; at most {files.LARGEST_TEXT}"):
        read(tmp_path / "study.json")


# Files of arrays and shapes of JSON: what fits is read as it is, all else is refused in one line


FOUND = {
    "images": np.arange(5 * 3 * 2, dtype=np.uint8).reshape(5, 3, 2),
    "labels": np.arange(5, dtype=np.int32),
    "names": np.array(["one", "two"]),
    "count": np.array(7),
}


def npy(array):
    made = io.BytesIO()
    np.save(made, array, allow_pickle=True)
    return made.getvalue()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "found.npz"


def test_a_mapped_array_stays_in_its_file_and_a_compressed_one_cannot_be_mapped(path, refused):
    arrays.write_npz(path, FOUND)
    read = arrays.read_npz(path, mapped=("images", "labels"))
    assert all(np.array_equal(read[name], array) for name, array in FOUND.items())
    changed = bytearray(path.read_bytes())
    changed[changed.index(FOUND["images"].tobytes())] = 99
    with path.open("rb+") as file:
        file.write(changed)
    assert read["images"][0, 0, 0] == 99
    with pytest.raises(ValueError, match="read-only"):
        read["images"][0] = 0
    np.savez_compressed(path, **FOUND)
    assert refused(lambda: arrays.read_npz(path, mapped=("images",))) == (
        f"{path}: damaged or truncated (images is compressed); expected a whole .npz file"
    )


@pytest.mark.parametrize("shape", [(10**12,), (-1, 10), (2, 10**30, 0), (2**63, 0)])
def test_an_npy_that_claims_more_than_it_has_or_than_can_be_is_refused_without_a_warning(shape, tmp_path):
    described = {"descr": "<f4", "fortran_order": False, "shape": shape}
    with (tmp_path / "a.npy").open("wb") as file:
        np.lib.format.write_array_header_1_0(file, described)
    with pytest.raises(BadInput, match=r"a\.npy: damaged or truncated \(its header claims -?\d+ bytes and has 0\)"):
        arrays.read_npy(tmp_path / "a.npy")
    path = tmp_path / "a.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.write(tmp_path / "a.npy", "a.npy")
    with pytest.raises(BadInput, match=r"a\.npy claims -?\d+ bytes and has 0"):
        arrays.read_npz(path)
    with path.open("rb") as file, pytest.raises(ValueError, match=r"a\.npy claims -?\d+ bytes"):
        arrays.unpack_npz(file)


@pytest.mark.filterwarnings("ignore:Duplicate name:UserWarning")
@pytest.mark.parametrize("second", ["a.npy", "a"])
@pytest.mark.parametrize("read", [arrays.read_npz, arrays.npz_names, outcome.read_npz])
def test_two_members_for_one_array_are_one_line(read, second, tmp_path, refused):
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        for number, name in enumerate(("a.npy", second)):
            archive.writestr(name, npy(np.array(number)))
    assert refused(read, tmp_path / "a.npz").startswith(
        f"{tmp_path / 'a.npz'}: damaged or truncated (a is there 2 times)"
    )


SHAPE = {"name": TEXT, "seeds": [COUNT], "about?": {"on": FLAG, "*": AMOUNT}, "spec": {"seed": INTEGER}}
WHOLE = {"name": "x", "seeds": [1, 2], "about": {"on": True, "a": 0.5, "b": 3}, "spec": {"seed": 2**40}, "more": None}


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"name": None}, "f.json: name: found null; expected a text"),
        ({"seeds": 3}, "f.json: seeds: found 3; expected a list, as in the record that a test wrote"),
        ({"seeds": [True]}, "f.json: seeds[0]: found true; expected an integer from 0 to 2147483647"),
        ({"about": {"on": True, "a": 10**400}}, f"f.json: about.a: found 1{'0' * 56}...; expected a number from 0 up"),
        ({"spec": {}}, "f.json: spec.seed: no such key; the record that a test wrote"),
        ({"spec": {"seed": -1}}, "f.json: spec.seed: found -1; expected an integer from 0 to 2^63 - 1"),
    ],
)
def test_what_does_not_fit_is_one_line_and_what_fits_is_read_as_it_is(change, line, tmp_path):
    for value in (WHOLE, {key: WHOLE[key] for key in WHOLE if key != "about"}):
        (tmp_path / "f.json").write_text(json.dumps(value))
        assert shapes.read_json_of_shape(tmp_path / "f.json", SHAPE, "") == value
    (tmp_path / "f.json").write_text(json.dumps(WHOLE | change))
    with pytest.raises(BadInput) as caught:
        shapes.read_json_of_shape(tmp_path / "f.json", SHAPE, "the record that a test wrote")
    assert str(caught.value) == f"{tmp_path}/{line}"


# Faults of the machine: what they are called, that they end a verb in one line, and what they leave whole


def said(error, capsys, job=""):
    with pytest.raises(SystemExit) as end, errors_in_one_line(job):
        raise error
    assert end.value.code == 2
    text = capsys.readouterr().err
    assert text.count("\n") == 1
    return text.removeprefix("toolnoise: ").rstrip("\n")


@pytest.mark.parametrize("old", ["old", None])
@pytest.mark.parametrize(
    ("number", "name"),
    [(errno.ENOSPC, "no space is left on the disk"), (errno.EACCES, "no permission"), (None, "")],
)
def test_a_failure_leaves_the_old_file_or_none_and_no_scratch_and_a_fault_is_one_line(old, number, name, place, capsys):
    if old:
        files.write_text(place, old)
    error = OSError(number, os.strerror(number)) if number else KeyboardInterrupt()
    with pytest.raises(type(error)) as caught, files.replacing(place) as scratch:
        scratch.write_text("half")
        raise error
    assert [path.read_text() for path in place.parent.iterdir()] == ([old] if old else [])
    if number:
        assert said(caught.value, capsys) == f"{place}: {name}"


@pytest.mark.parametrize("there", [False, True])
def test_a_folder_is_filled_or_left_as_it_was(there, tmp_path):
    place = tmp_path / "page"
    if there:
        place.mkdir()
    with pytest.raises(OSError, match="full") as caught, files.filling(place) as scratch:
        (scratch / "half").write_text("half")
        raise OSError(errno.ENOSPC, "full", "a source", None, str(scratch / "half"))
    assert errors.fault_line(caught.value) == f"{place}: no space is left on the disk"
    assert place.exists() == there
    with files.filling(place) as scratch:
        (scratch / "a").mkdir()
        (scratch / "a/b").write_text("whole")
        assert [path for path in place.iterdir() if not path.name.startswith(".")] == []
    assert [path.name for path in place.iterdir()] == ["a"]
    assert (place / "a/b").read_text() == "whole"


KERAS = "Exception encountered when calling Add.call().\n\n"


@pytest.mark.parametrize(
    "error",
    [
        MemoryError("Unable to allocate 2.50 GiB for an array"),
        RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 99 bytes.\nmore"),
        # Keras puts a line of its own before the framework's.
        RuntimeError(f"{KERAS}CUDA out of memory. Tried to allocate 1 GiB"),
    ],
)
def test_too_little_memory_is_one_line_with_the_job_and_what_was_asked_for(error, capsys):
    line, asked = said(error, capsys, "train smallcnn/1"), str(error).removeprefix(KERAS).splitlines()[0]
    assert line.startswith(f"train smallcnn/1: not enough memory: {asked}")


def test_no_room_for_temporary_files_is_one_line():
    error = FileNotFoundError(errno.ENOENT, "No usable temporary directory found in ['/tmp']")
    assert errors.fault_line(error).startswith("temporary files: No usable temporary directory found in [")


@pytest.mark.parametrize("error", [ValueError("a defect"), OSError("unknown"), FileNotFoundError(2, "no", "x")])
def test_a_defect_stays_a_traceback(error):
    with pytest.raises(type(error)), errors_in_one_line():
        raise error
    assert not errors.fault_line(error)


def test_ctrl_c_ends_without_a_word_and_with_130(capsys):
    with pytest.raises(SystemExit) as end, errors_in_one_line():
        raise KeyboardInterrupt
    assert end.value.code == 130
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(("make", "what"), [(os.mkdir, "a folder"), (os.mkfifo, "a pipe or a device")])
def test_what_is_no_file_is_never_replaced(make, what, tmp_path):
    make(tmp_path / "out")
    for write in (lambda path: files.write_text(path, ""), files.require_writable):
        with pytest.raises(BadInput, match=f"out: {what} is in the way"):
            write(tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_full_disk_under_what_a_verb_prints_is_one_line():
    verb = ["plan", "--sd", "0.3", "--gain", "0.3"]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "toolnoise.cli", *verb], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert done.returncode == 2
    assert done.stderr == "toolnoise: standard output: no space is left on the disk\n"


@pytest.mark.parametrize(
    ("module", "extra"),
    [("sklearn", "run"), ("torch", "torch"), ("numpy", ""), ("toolnoise.nowhere", ""), ("snake", "")],
)
def test_a_missing_package_of_an_extra_is_one_line_with_what_to_install_and_any_other_a_defect(module, extra):
    missing = ModuleNotFoundError(f"No module named {module!r}", name=module)
    assert errors.fault_line(missing) == (f"{module}: not installed; pip install 'toolnoise[{extra}]'" if extra else "")


# Metric files: read as they were written, or refused in one line


PLACE = ("small_cnn", "digits", "cpu", "algo")
ROWS = [
    (*PLACE, "accuracy_mean", "all", *Estimate(0.1 + 0.2, 1e-05, 1.0), 5, 0),
    (*PLACE, "accuracy_sd_ratio", "007", *Estimate(np.nan, np.nan, np.nan), 4, 1),
]
WRITTEN = """# toolnoise metrics 1
model,dataset,hardware,variant,metric,group,value,ci_low,ci_high,n_runs,n_missing
small_cnn,digits,cpu,algo,accuracy_mean,all,0.30000000000000004,1e-05,1.0,5,0
small_cnn,digits,cpu,algo,accuracy_sd_ratio,007,,,,4,1
"""


@pytest.fixture
def table(tmp_path):
    return tmp_path / "metrics.csv"


def test_file_is_the_version_the_columns_and_exact_numbers(table):
    write_table(table, STABILITY, ROWS)
    assert table.read_bytes() == WRITTEN.encode()


NAMES = st.text(st.characters(exclude_categories=["C", "Z"]) | st.sampled_from(" ,\"'#\n"), max_size=9)
NUMBERS = st.floats(width=64).filter(lambda number: number == number) | st.just(float("nan"))


ANY_ROW = st.tuples(*[NAMES] * 7, *[NUMBERS] * 3, *[st.integers(0, 999)] * 2)


@given(st.lists(ANY_ROW, min_size=1, max_size=4, unique_by=lambda row: (row[:7], row[10:])))
def test_what_is_written_reads_back_the_same_to_the_bit(tmp_path_factory, rows):
    table = tmp_path_factory.mktemp("table") / "metrics.csv"
    write_table(table, CROSS_TOOLING, rows)
    pd.testing.assert_frame_equal(
        read_table(table, CROSS_TOOLING), pd.DataFrame(rows, columns=list(CROSS_TOOLING)), check_exact=True
    )


def test_a_file_that_nobody_could_read_is_not_written(table, refused, monkeypatch):
    monkeypatch.setattr(files, "LARGEST_TEXT", len(WRITTEN) - 1)
    line = refused(write_table, table, STABILITY, ROWS)
    assert line == f"{table}: would have {len(WRITTEN)} bytes; at most {len(WRITTEN) - 1}; split the study"
    assert not table.exists()
    monkeypatch.setattr(files, "LARGEST_TEXT", len(WRITTEN))
    write_table(table, STABILITY, ROWS)
    assert len(read_table(table, STABILITY)) == 2


HEADER = ",".join(STABILITY)
BAD = {
    "another version": (
        WRITTEN.replace("metrics 1", "metrics 2"),
        "line 1: found '# toolnoise metrics 2'; expected '# toolnoise metrics 1'",
    ),
    "missing column": (
        WRITTEN.replace(",ci_low", ""),
        f"ci_low: column missing; the columns are {', '.join(STABILITY)}",
    ),
    "no rows": (f"{VERSION}\n{HEADER}\n", "no rows; expected at least one below the column names"),
    "not a number": (
        WRITTEN.replace("1e-05", "nan"),
        "line 3, ci_low: found 'nan'; expected a number, or nothing where undefined",
    ),
    "a short row": (WRITTEN + "small_cnn,digits\n", "line 5: 2 fields; expected 11"),
    "an open quote": (WRITTEN + '"small_cnn', "line 5: damaged (unexpected end of data); expected CSV"),
}


@pytest.mark.parametrize(("text", "line"), BAD.values(), ids=BAD)
def test_a_bad_file_is_refused_in_one_line(table, text, line):
    table.write_text(text)
    with pytest.raises(BadInput) as refused:
        read_table(table, STABILITY)
    assert str(refused.value) == f"{table}: {line}"
    table.unlink()
    with pytest.raises(BadInput, match="no such file; expected a metric file"):
        read_table(table, STABILITY)


@pytest.mark.parametrize("beside", [False, True], ids=["in one file", "in two"])
def test_a_row_that_stands_twice_is_one_line(beside, table, refused):
    row, other = (*PLACE, "churn", "all", 0.5, 0.4, 0.6, 5, 0), (*PLACE, "churn", "all", 0.6, 0.4, 0.6, 5, 0)
    write_table(table, STABILITY, [row] if beside else [row, other])
    line = refused(read_table, [table, table] if beside else table, STABILITY)
    assert line.startswith(f"{table}: found {'/'.join(PLACE)}/churn/all/5/0 twice in this or the files beside it")


# Specs, variants and values as text: read as they were written, nothing in them changes, and what is refused


RUN = {
    "study_seed": 7,
    "model": {"name": "mine", "command": "python train.py", "outcome": "values", "sources": ["init"]},
    "dataset": {"name": "tables", "reader": "outcome"},
    "recipe": {"name": "program"},
    "hardware": {"name": "cpu", "engine": "command", "impl_noise": "native", "threads": 1},
    "variant": {"name": "init+bit", "varying": ["init", "bit"], "bit_after": 2},
    "seed": 20003,
    "draw": 2,
}


def as_bytes(value):
    return json.dumps(value, sort_keys=True, indent=1).encode()


def test_its_json_is_what_it_was_read_from_also_with_keys_of_another_version():
    value = copy.deepcopy(RUN) | {"later": [1, {"a": None}]}
    value["model"]["earlier"] = {"deep": True}
    before = as_bytes(value)
    assert as_bytes(Spec.read(value).as_json()) == before
    assert Spec.read(json.loads(before)) == Spec.read(value)


NO_VARIANTS = "+ weather all impl+shuffle shuffle+shuffle shuffle+ +impl algo+bit control+impl shuffle+weather"
NO_VARIANTS += " bit_0 bit_01 bit_ bit_-1 bit_1.5 bit_\u0661 bit_1+bit impl_3 bit+init"


def test_anything_else_is_no_variant():
    assert [name for name in ("", *NO_VARIANTS.split()) if variant_named(name) is not None] == []


# Values as text on command lines: what is read is what was written


KEYS = st.text(min_size=1).filter(lambda key: "=" not in key and not any(map(str.isspace, key)))
# Texts that look like other things are likelier than chance has them.
LIKE_OTHERS = st.text(alphabet='aZ_./1-" {}[]\\=\n\t,', max_size=8) | st.sampled_from(["true", "null", "NaN", "1"])
TEXTS = st.text() | LIKE_OTHERS
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | TEXTS
JSON = st.recursive(LEAVES, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8)


@given(st.dictionaries(KEYS, JSON, max_size=5))
@example({"a": "", "b": "1", "c": 1, "d": 1.0, "e": "true", "f": True, "g": "x y", "h": 'say "{}"\n', "i": "größer"})
@example({"learning_rate": 0.1 + 0.2, "path": "./a/b.npz", "url": "https://a.b/c?d=e", "options": {"width": 4}})
def test_values_are_read_as_they_were_written(values):
    line = values_as_text(values)
    assert "\n" not in line
    # As JSON, 1 and 1.0 differ, and NaN equals itself.
    assert json.dumps(values_in_text(line, "--x"), sort_keys=True) == json.dumps(values, sort_keys=True)


@pytest.mark.parametrize(
    "line",
    ["a", "=1", "a=", "a=1 a=2", "a=1  b=2", " a=1", "a=01", "a={", "a='b'", 'a="b"c=1', "a=b\tc=1", "a=b c", "a=1b"],
)
def test_what_is_no_such_text_is_refused_in_one_line(line):
    with pytest.raises(BadInput, match=r"^command line: --x: found ") as refused:
        values_in_text(line, "--x")
    assert "\n" not in str(refused.value)
