import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolnoise.base import files
from toolnoise.base.errors import BadInput
from toolnoise.base.metric_files import VERSION, concatenate, read, write
from toolnoise.formulas.stability import STABILITY
from toolnoise.papers.frameworks.pair import CROSS_TOOLING
from toolnoise.stats.estimates import Estimate

CELL = ("small_cnn", "digits", "cpu", "algo")
ROWS = [
    (*CELL, "accuracy_mean", "all", *Estimate(0.1 + 0.2, 1e-05, 1.0), 5, 0),
    (*CELL, "accuracy_sd_ratio", "007", *Estimate(np.nan, np.nan, np.nan), 4, 1),
]
TEXT = """# toolnoise metrics 1
model,dataset,hardware,variant,metric,group,value,ci_low,ci_high,n_runs,n_missing
small_cnn,digits,cpu,algo,accuracy_mean,all,0.30000000000000004,1e-05,1.0,5,0
small_cnn,digits,cpu,algo,accuracy_sd_ratio,007,,,,4,1
"""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "metrics.csv"


def test_file_is_the_version_the_columns_and_exact_numbers(path):
    write(path, STABILITY, ROWS)
    assert path.read_bytes() == TEXT.encode()


def test_groups_are_text_numbers_floats_and_counts_integers(path):
    path.write_text(TEXT)
    frame = read(path, STABILITY)
    assert list(frame.columns) == list(STABILITY)
    assert frame["group"].tolist() == ["all", "007"]
    assert frame["value"].dtype == frame["ci_low"].dtype == frame["ci_high"].dtype == np.float64
    assert frame["n_runs"].dtype == frame["n_missing"].dtype == np.int64
    assert frame["value"][0] == 0.1 + 0.2
    assert frame.loc[1, ["value", "ci_low", "ci_high"]].isna().all()


def test_several_files_are_read_as_one(tmp_path):
    paths = [tmp_path / name for name in "ab"]
    for path, row in zip(paths, ROWS, strict=True):
        write(path, STABILITY, [row])
    assert read(paths, STABILITY)["metric"].tolist() == [row[4] for row in ROWS]
    paths[1].write_text("damaged")
    with pytest.raises(BadInput, match=f"^{paths[1]}: "):
        read(paths, STABILITY)


NAMES = st.text(st.characters(exclude_categories=["C", "Z"]) | st.sampled_from(" ,\"'#\n"), max_size=9)
NUMBERS = st.floats(width=64).filter(lambda number: number == number) | st.just(float("nan"))


ANY_ROW = st.tuples(*[NAMES] * 7, *[NUMBERS] * 3, *[st.integers(0, 999)] * 2)


@given(st.lists(ANY_ROW, min_size=1, max_size=4, unique_by=lambda row: (row[:7], row[10:])))
def test_what_is_written_reads_back_the_same_to_the_bit(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("table") / "metrics.csv"
    write(path, CROSS_TOOLING, rows)
    pd.testing.assert_frame_equal(
        read(path, CROSS_TOOLING), pd.DataFrame(rows, columns=list(CROSS_TOOLING)), check_exact=True
    )


def test_a_row_with_a_cell_too_few_is_never_written(path):
    with pytest.raises(ValueError, match="shorter"):
        write(path, STABILITY, [ROWS[0][1:]])
    assert not path.exists()


def test_a_file_that_nobody_could_read_is_not_written(path, refused, monkeypatch):
    monkeypatch.setattr(files, "LARGEST_TEXT", len(TEXT) - 1)
    line = refused(write, path, STABILITY, ROWS)
    assert line == f"{path}: would have {len(TEXT)} bytes; at most {len(TEXT) - 1}; split the study"
    assert not path.exists()
    monkeypatch.setattr(files, "LARGEST_TEXT", len(TEXT))
    write(path, STABILITY, ROWS)
    assert len(read(path, STABILITY)) == 2


def test_concatenation_keeps_the_rows_of_each_file_in_the_order_given_or_refuses_them(tmp_path):
    for name, rows in zip("ab", [ROWS[1:], ROWS[:1]], strict=True):
        write(tmp_path / name, STABILITY, rows)
    concatenate([tmp_path / "b", tmp_path / "a"], STABILITY, tmp_path / "all")
    assert (tmp_path / "all").read_text() == TEXT
    (tmp_path / "b").write_text(TEXT.replace("1e-05", "few"))
    with pytest.raises(BadInput, match="ci_low"):
        concatenate([tmp_path / "b"], STABILITY, tmp_path / "none")
    assert not (tmp_path / "none").exists()


HEADER = ",".join(STABILITY)
BAD = {
    "another version": (
        TEXT.replace("metrics 1", "metrics 2"),
        "line 1: found '# toolnoise metrics 2'; expected '# toolnoise metrics 1'",
    ),
    "no version": (TEXT.partition("\n")[2], f"line 1: found '{HEADER[:60]}'; expected '{VERSION}'"),
    "no columns": (VERSION + "\n", f"model: column missing; the columns are {', '.join(STABILITY)}"),
    "missing column": (
        TEXT.replace(",ci_low", ""),
        f"ci_low: column missing; the columns are {', '.join(STABILITY)}",
    ),
    "extra column": (
        TEXT.replace(",n_runs", ",note,n_runs"),
        f"note: unexpected column; the columns are {', '.join(STABILITY)}",
    ),
    "repeated column": (
        TEXT.replace("model,", "model,model,"),
        f"columns: found model, {', '.join(STABILITY)}; the columns are {', '.join(STABILITY)}",
    ),
    "no rows": (f"{VERSION}\n{HEADER}\n", "no rows; expected at least one below the column names"),
    "not a number": (
        TEXT.replace("1e-05", "nan"),
        "line 3, ci_low: found 'nan'; expected a number, or nothing where undefined",
    ),
    "a fraction of a run": (
        TEXT.replace("4,1\n", "4,0.5\n"),
        "line 4, n_missing: found '0.5'; expected a count: 0, 1, ...",
    ),
    "a short row": (TEXT + "small_cnn,digits\n", "line 5: 2 fields; expected 11"),
    "an open quote": (TEXT + '"small_cnn', "line 5: damaged (unexpected end of data); expected CSV"),
}


@pytest.mark.parametrize(("text", "line"), BAD.values(), ids=BAD)
def test_a_bad_file_is_refused_in_one_line(path, text, line):
    path.write_text(text)
    with pytest.raises(BadInput) as refused:
        read(path, STABILITY)
    assert str(refused.value) == f"{path}: {line}"
    path.unlink()
    with pytest.raises(BadInput, match="no such file; expected a metric file"):
        read(path, STABILITY)


@pytest.mark.parametrize("beside", [False, True], ids=["in one file", "in two"])
def test_a_row_that_stands_twice_is_one_line(beside, path, refused):
    row, other = (*CELL, "churn", "all", 0.5, 0.4, 0.6, 5, 0), (*CELL, "churn", "all", 0.6, 0.4, 0.6, 5, 0)
    write(path, STABILITY, [row] if beside else [row, other])
    line = refused(read, [path, path] if beside else path, STABILITY)
    assert line.startswith(f"{path}: found {'/'.join(CELL)}/churn/all/5/0 twice in this or the files beside it")
