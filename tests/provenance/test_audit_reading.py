"""Results made to harm who audits them: a line a finding, no traceback, and nothing is run or waited for."""

import io
import json
import os
import pickle
import random
import secrets
import zipfile

import pytest
from forging import ROOTED, definition, made_from, said, sha256, written

CELL = "smallcnn/digits/cpu"
RUN, METRICS = f"runs/{CELL}/algo_impl/1", f"metrics/cells/{CELL}/impl.csv"
HUGE = 4 << 40
DEEP = b"[" * 200_000

ODD = [None, True, -1, 0.5, 10**300, float("inf"), float("nan"), [], {}, [[[]]], {"": {"": None}}, [{"name": 1}]]
ODD += ["", "a\0b\x1b[31m\n\u202e", "../../../../etc/passwd", "/dev/zero", "\N{SNOWMAN}" * 5000, "results/small/"]
ODD += ["9" * 5000, "2026-11-20T00:00:00.000000Z", {"sha256": ["0"]}]


def nodes(value, way=()):
    """The ways to all values in JSON."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inside:
        yield (*way, key)
        yield from nodes(one, (*way, key))


def oddly(drawn, content):
    """JSON with another value somewhere, or without one."""
    value = json.loads(content)
    *before, last = drawn.choice(list(nodes(value)))
    place = value
    for key in before:
        place = place[key]
    if drawn.random() < 0.2:
        del place[last]
    else:
        place[last] = drawn.choice(ODD)
    return json.dumps(value).encode()


def assert_lines_can_be_printed(small):
    """What a person reads has no control characters, and says the same."""
    done = said("audit", small.root)
    assert (done.code, done.err) == (1, "")
    assert done.out.encode()
    assert not [letter for letter in done.out if letter != "\n" and not letter.isprintable()]


@pytest.mark.parametrize("number", range(12))
def test_json_of_any_shape_is_a_finding(number, small):
    """Other shapes in each run, in 25 files at once; with SHAPES_SEED those of the run that printed it."""
    seed = int(os.environ.get("SHAPES_SEED", secrets.randbits(32)))
    print(f"SHAPES_SEED={seed}")
    drawn = random.Random(f"{seed} {number}")
    statements = [path for path in small.statements if path != small.stated[ROOTED]]
    records = [path for path in small.files if path.endswith(".json") and json.loads(small.original[path])]
    # Statements as they are, or vouched for, or the root as well; then records that all statements fit.
    changed = drawn.sample(records if number % 4 == 3 else statements, 15)
    for path in [*changed, small.stated[ROOTED]] if number % 4 == 2 else changed:
        small.put(path, oddly(drawn, small.original[path]))
    if number % 2:
        small.settle_upwards()
    assert small.audit().code == 1
    assert_lines_can_be_printed(small)


UNREADABLE = [b"", b"{", DEEP, b'{"_type": ' + DEEP, b'{"_type": ' + b"9" * 100_000 + b"}", b"null", b"[1, 2]"]
UNREADABLE += [
    b'"text"',
    b'{"_type": "\xff\xfe"}',
    '{"_type": 1}'.encode("utf-16"),
    b'{"payload": "", "signatures": []}',
]


def test_statements_that_cannot_be_read_are_unknown(small):
    paths = dict(zip([path for path in small.statements if "/figures/" not in path], UNREADABLE, strict=False))
    for path, content in paths.items():
        small.put(path, content)
    found = small.audit()
    assert [path for path in paths if not found.told({"unknown"}, small.names(path))] == []
    assert_lines_can_be_printed(small)


def test_a_root_that_cannot_be_read_is_unknown(small):
    for content in UNREADABLE:
        small.put(small.stated[ROOTED], content)
        found = small.audit()
        assert found.root is None
        assert found.told({"unknown"}, small.names(ROOTED))


class Calling(str):
    """A path of which a pickle makes a folder when it is loaded."""

    def __reduce__(self):
        return (os.mkdir, (str(self),))


def npz_of(name, content):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as packed:
        packed.writestr(f"{name}.npy", content)
    return file.getvalue()


def npy(header, data=b""):
    text = repr(header).encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + data


def test_files_that_no_job_would_write_are_findings_and_nothing_in_them_is_run(small, tmp_path):
    """All digests fit, so everything that reads them comes to them."""
    trap = tmp_path / "trap"
    objects = npy({"descr": "|O", "fortran_order": False, "shape": (1,)}, pickle.dumps(Calling(trap)))
    endless = npy({"descr": "<f4", "fortran_order": False, "shape": (2**40, 2**20)})
    odd = {
        f"{RUN}/weights.npz": npz_of("conv1/kernel", objects),
        f"runs/{CELL}/algo_impl/2/weights.npz": npz_of("conv1/kernel", endless),
        f"runs/{CELL}/impl/1/weights.npz": pickle.dumps(Calling(trap)),
        f"runs/{CELL}/control/1/run.json": DEEP,
        f"runs/{CELL}/control/2/history.csv": b'"\n' * 1000 + b"\0\xff",
        f"predictions/{CELL}/impl.npy": objects,
        f"predictions/{CELL}/algo_impl.npy": endless,
        f"predictions/{CELL}/control.json": b'{"seeds": {"a": 1}, "spec": []}',
        "metrics/stability.csv": b"\xff" * 1000,
        "metrics/runs.csv": b"",
        "control/smallcnn-bn/digits/cpu.json": b'{"bit_equal": NaN}',
        "data/digits.npz": npz_of("train_images", objects),
    }
    for path, content in odd.items():
        small.put(path, content)
    small.settle_upwards()
    found = small.audit()
    assert "changed" not in found.rules
    # Data is only read when measures are made again.
    missed = [path for path in odd if not found.told({"record", "draws", "control", "numbers"}, small.names(path))]
    assert missed == ["data/digits.npz"]
    assert_lines_can_be_printed(small)
    assert not trap.exists()


def test_a_file_of_another_size_is_not_read(small, toolnoise):
    """A file of 4 TiB takes an hour to read, and no room on the disk."""
    small.put("figures/table2.csv", small.original["figures/table2.csv"][:-1])
    for path in (f"{RUN}/weights.npz", "figures/more.png", small.stated[METRICS]):
        small.put(path, b"")
        os.truncate(small.path(path), HUGE)
    done = toolnoise(small.root, "audit", ".", "--json", timeout=120)
    found = json.loads(done.stdout)["findings"]
    told = {(one["rule"], one["artifact"]) for one in found}
    assert {("changed", small.name(one)) for one in (f"{RUN}/weights.npz", "figures/table2.csv")} <= told
    assert ("unknown", small.name("figures/more.png")) in told
    assert [rule for rule, artifact in told if rule == "unknown" and artifact in small.names(METRICS)]


def test_what_statements_name_outside_the_results_is_not_opened(small, toolnoise):
    """Each has the right digest: who opens it finds nothing wrong. Nobody ever writes to the pipe."""
    site = small.root.parent.parent
    (site.parent / "secret.py").write_bytes(b"secret")
    os.mkfifo(site / "pipe.py")
    (site / "outside").symlink_to(site.parent)
    named = {
        "metrics/ratios.csv": "../secret.py",
        "metrics/claims.csv": str(site.parent / "secret.py"),
        "metrics/data.csv": "outside/secret.py",
        "metrics/runs.csv": "pipe.py",
    }
    for artifact, name in named.items():
        about = {"name": name, "digest": {"sha256": sha256(b"secret")}, "annotations": {"kind": "code"}}
        small.restate(artifact, lambda made, about=about: definition(made)["resolvedDependencies"].append(about))
    small.settle_upwards()
    done = toolnoise(site, "audit", "results/small", "--json", timeout=120)
    told = {one["artifact"] for one in json.loads(done.stdout)["findings"] if one["rule"] == "code"}
    assert [one for one in named if not told & small.names(one)] == []


def test_a_chain_of_a_thousand_jobs_is_followed(small):
    """A statement each, and each made from the one before: Python's stack is shorter."""
    text = small.original[small.stated["metrics/claims.csv"]]
    for number in range(1500):
        value = json.loads(text)
        value["subject"][0]["name"] = small.name(f"x/{number}.csv")
        about = made_from(value, "input")[0] | {"name": small.name(f"x/{number - 1}.csv")}
        about["digest"] = value["subject"][0]["digest"]
        kept = [one for one in definition(value)["resolvedDependencies"] if one["annotations"]["kind"] == "commit"]
        definition(value)["resolvedDependencies"] = [*kept, about]
        small.put(f"statements/x/{number}.csv.intoto.json", written(value))
        small.put(f"x/{number}.csv", small.original["metrics/claims.csv"])
    done = said("audit", small.path("x/1499.csv"))
    assert done.code == 1
    assert done.err == ""
