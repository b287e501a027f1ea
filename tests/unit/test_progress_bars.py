import pytest

from toolnoise.base import progress


@pytest.fixture
def written(capsys, monkeypatch):
    """What a counter writes; `now`: as if every update came after the interval."""

    def count(total, now=True):
        monkeypatch.setattr(progress, "INTERVAL", 0 if now else 30)
        with progress.progress("reading", total, "file") as shown:
            for _ in range(3):
                shown.update()
        return capsys.readouterr().err

    return count


def test_short_work_writes_nothing_into_a_pipe(written):
    assert written(3, now=False) == ""


@pytest.mark.parametrize(("total", "last"), [(3, "reading: 3.00 of 3.00 file"), (None, "reading: 3.00 file")])
def test_long_work_writes_lines_into_a_pipe_and_no_bar(written, total, last):
    said = written(total)
    assert "\r" not in said
    assert "|" not in said
    assert "█" not in said
    assert said.splitlines()[-1].startswith(last)
