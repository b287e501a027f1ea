"""What looks like a credential is hidden, and values of variables that a command names reach no log and no error."""

import base64
import json
import os
import sys
import time
from urllib.parse import quote

import pytest

from toolnoise.base.program import ROOT
from toolnoise.checking import launch, reproducibility
from toolnoise.checking.redaction import Redaction
from toolnoise.record import envelope
from toolnoise.study import command_words
from toolnoise.verify import anonymous, credentials

# What looks like a credential is found, named by form and key, and hidden; what resembles one is left alone


LONG = "Zx9" * 14
ARE = {
    "python train.py --api-key SECRET --lr 0.1": "SECRET",
    "python train.py --api_key=SECRET": "SECRET",
    'python train.py --password "two words" -v': "two words",
    "python train.py -password hunter2": "hunter2",
    "python train.py --hf-token='SECRETS'": "SECRETS",
    "python train.py wandb.api_key=SECRET": "SECRET",
    "WANDB_API_KEY=SECRET python train.py": "SECRET",
    "curl https://host.example/x?api_key=SECRET&page=2": "SECRET",
    "fetch https://ann:pw@host.example/x": "pw",
    f"git clone https://{LONG}@host.example/x": LONG,
    "Authorization: Bearer abcdefgh12": "abcdefgh12",
    "password: hunter2": "hunter2",
    "secret_key = 'abcdef'": "abcdef",
    **{
        one: one
        for one in (
            "AKIAIOSFODNN7EXAMPLE",
            f"ghp_{LONG}",
            f"github_pat_{LONG}",
            f"glpat-{LONG}",
            f"hf_{LONG}",
            f"sk-{LONG}",
            f"sk-ant-api03-{LONG}",
            "xoxb-123456789012-abcdef",
            f"AIza{LONG[:35]}",
            f"sk_live_{LONG}",
            f"npm_{LONG[:36]}",
            f"eyJ{LONG}.eyJ{LONG}.{LONG}",
        )
    },
    f"-----BEGIN OPENSSH PRIVATE KEY-----\n{LONG}\n{LONG}\n-----END OPENSSH PRIVATE KEY-----": f"\n{LONG}\n{LONG}\n",
}
ARE_NOT = (
    "${{ secrets.TOKEN }} and --token ${{ secrets.TOKEN }}",
    "python train.py --api-key {env:KEY} --url https://ann:{env:PASSWORD}@host.example/x",
    "--token $TOKEN --password (left out) --secret-key ******",
    "--pad-token unknown --max_new_token 4096 --eos_token=stop --tokenizer bert-base --num-tokens 1000",
    "sha256: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    '"keyid": "SHA256:uNiVztksCsDhcc0u9e8BrrJXVGDJ1PfE4o2d5bM1VSk", "seed": 4294967295',
    "git@host.example:ann/repository.git ssh://git@host.example/x http://host.example:8080/a@b",
    "https://in-toto.io/Statement/v1 pkg:example/numpy@1.26.4",
    "task-0123456789012345678901234567890123456789 half_precision_of_everything_that_is_long",
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGWqOyNqZ6mHv0sY0q3cX0Jm7R2o0i9c4t4Zf6v3dJ2k ann@example.org",
    "detokenise the secretary's passport, token by token",
)


@pytest.mark.parametrize(("text", "secret"), ARE.items())
def test_a_credential_is_found_and_nothing_of_it_is_left(text, secret):
    assert secret in {one.secret for one in credentials.found(text)}
    shown = credentials.hidden(text)
    assert secret not in shown
    assert credentials.HIDDEN in shown
    assert credentials.found(shown) == []
    assert list(credentials.found_in({"command": text}))
    # As it stands in a file of JSON; a line of YAML is no line there.
    assert credentials.found(json.dumps({"command": text})) or text.startswith("password:")


@pytest.mark.parametrize("text", ARE_NOT)
def test_what_resembles_a_credential_is_left_alone(text):
    assert credentials.found(text) == []
    assert credentials.hidden(text) == text


def test_code_may_pass_a_value_on_and_may_not_have_one():
    passed = "model.push(token=token, password=os.environ[NAME])\n"
    assert credentials.found(passed, code=True) == []
    assert [one.secret for one in credentials.found(passed + "push(token='abcdef')", code=True)] == ["abcdef"]


def test_values_are_found_by_their_keys_and_words_by_their_neighbours():
    value = {
        "options": {"api_key": "SECRET", "max_token": "4096", "token": "{env:TOKEN}", "password": None},
        "words": ["train", "--token", "SECRET"],
        "datasets": [{"url": "https://ann:hunter2@host.example/x"}],
    }
    assert [(key, one.secret) for key, one in credentials.found_in(value)] == [
        ("options.api_key", "SECRET"),
        ("words", "SECRET"),
        ("datasets[0].url", "hunter2"),
    ]


def test_a_study_file_has_a_warning_for_each_key_that_shows_no_secret():
    models = {"mine": {"command": "python t.py --api-key SECRET --url https://ann:hunter2@host.example/x"}}
    (line,) = credentials.warnings({"models": models, "grid": []}, "study.yaml")
    assert line.startswith("study.yaml: models.mine.command: looks like a credential (the value of --api-key, a pass")
    assert "SECRET" not in line
    assert "hunter2" not in line


def test_an_anonymous_text_has_neither_a_credential_nor_an_account():
    value = {
        "remote": "https://ann@host.example/x and https://ann:token@host.example/x",
        "command": "train --api-key SECRET",
        "api_key": "SECRET",
    }
    shown = anonymous.without(value, set())
    assert shown["remote"] == "https://host.example/x and https://host.example/x"
    assert shown["command"] == "train --api-key (left out)"
    assert shown["api_key"] == "(left out)"
    # Once more, it is as it is.
    assert anonymous.without(shown, set()) == shown
    assert anonymous.names_somebody(b"see https://ann@host.example/x", set())
    assert anonymous.names_somebody(b"train --api-key SECRET", set())


STUDIES = sorted(path.name.removesuffix(".tar.xz") for path in (ROOT / "evidence").glob("*.tar.xz"))


@pytest.mark.parametrize("study", STUDIES)
def test_kept_studies_have_nothing_that_looks_like_a_credential(study, evidence):
    files = [path for path in evidence(study).rglob("*") if path.is_file()]
    assert len(files) > 10
    credentials.refuse((path.name, path) for path in files)


def test_the_programs_own_files_go_into_crates_as_they_are():
    folders = ("workflow", "resources", "notebooks", "config", "requirements")
    files = [path for folder in folders for path in (ROOT / folder).rglob("*") if path.is_file()]
    files = [path for path in files if "__pycache__" not in path.parts and not path.is_symlink()]
    assert len(files) > 300
    credentials.refuse((path.name, path) for path in files)


def test_a_refusal_names_the_clearest_place_and_no_secret(refused):
    files = [
        ("page.js", b"x\n--token SECRET"),
        ("study.json", json.dumps({"models": {"mine": {"command": "train --token SECRET"}}}).encode()),
        ("study.yaml", b"\n\npassword: hunter2\n"),
    ]
    said = refused(credentials.refuse, files)
    assert said.startswith(
        "study.json: models.mine.command: looks like a credential (the value of --token), in 2 places"
    )
    assert "1 other text too" in said
    assert "SECRET" not in said
    assert "hunter2" not in said
    assert refused(credentials.refuse, files, ["SECRET"]).startswith("study.yaml: line 3: looks like a credential")
    credentials.refuse(files, ["SECRET", "hunter2"])


def test_a_signed_statement_is_searched_as_it_was_before(refused):
    payload = json.dumps({"command": "train --token SECRET"}).encode()
    signed = envelope.Envelope(payload, (envelope.Signature("key", b"signature"),)).as_json()
    assert "SECRET" not in json.dumps(signed)
    said = refused(credentials.refuse, [("a.intoto.json", json.dumps(signed).encode())])
    assert said.startswith("a.intoto.json: command: looks like")


def test_arrays_pictures_and_what_is_no_text_are_not_read_and_a_huge_text_is_refused_by_its_size(tmp_path, refused):
    for name, beginning in (("a.npz", b"--token SECRET"), ("b.csv", b"--token SECRET\0"), ("c.csv", b"a,b\n" * 2000)):
        with (tmp_path / name).open("wb") as file:
            file.write(beginning)
            # On disk it has one block. A reader of all of it would need a GiB of memory.
            file.truncate(2**30)
    files = [(path.name, path) for path in sorted(tmp_path.iterdir())]
    said = refused(credentials.refuse, files)
    assert said.startswith("c.csv: has 1073741824 bytes, too many to be searched for credentials; at most 134217728")
    credentials.refuse(files, ["c.csv"])


# Values of variables that a command names reach neither the log of the program nor an error, at no time


SECRET = 'tok"en/ä+9x\\'
VALUES = {"env:TOKEN": SECRET}


def logged(tmp_path, values, *parts):
    """What is in a log after these parts were written one after the other."""
    with (tmp_path / "log").open("wb") as log, Redaction(values).into(log.fileno()) as printed:
        for part in parts:
            os.write(printed, part)
            time.sleep(0.002)
    return (tmp_path / "log").read_bytes()


def test_a_value_is_hidden_wherever_the_output_is_split(tmp_path):
    text = f"before {SECRET}{SECRET} after {SECRET[:4]}, the end: {SECRET}".encode()
    wanted = f"before {{env:TOKEN}}{{env:TOKEN}} after {SECRET[:4]}, the end: {{env:TOKEN}}".encode()
    for at in range(len(text) + 1):
        assert logged(tmp_path, VALUES, text[:at], text[at:]) == wanted
    assert logged(tmp_path, VALUES, *(bytes([one]) for one in text)) == wanted


def test_of_values_that_overlap_none_is_left(tmp_path):
    values = {"env:A": "abcdef", "env:B": "abcdefghi", "env:C": "efghij"}
    text = b"abcdef abcdefghi abcdefghij xefghij abcdefg"
    for at in range(len(text)):
        found = logged(tmp_path, values, text[:at], text[at:])
        assert found == b"{env:A} {env:B} {env:B}j x{env:C} {env:A}g"


def test_bytes_of_which_no_value_is_part_are_unchanged(tmp_path):
    content = os.urandom(300_000)
    assert logged(tmp_path, VALUES, content) == content


@pytest.mark.parametrize(
    "spelled",
    [
        json.dumps(SECRET),
        repr(SECRET),
        quote(SECRET),
        quote(SECRET, safe=""),
        base64.b64encode(SECRET.encode()).decode(),
    ],
)
def test_other_spellings_are_hidden(spelled):
    assert "{env:TOKEN}" in Redaction(VALUES).text(f"a {spelled} b")
    assert spelled.strip("\"'") not in Redaction(VALUES).text(f"a {spelled} b")


def test_each_long_line_of_a_key_is_hidden():
    key = "first line of a key\nsecond line of a key\n"
    assert Redaction({"env:KEY": key}).text("> second line of a key <") == "> {env:KEY} <"


def test_the_log_is_written_at_once(tmp_path):
    with (tmp_path / "log").open("wb") as log, Redaction(VALUES).into(log.fileno()) as printed:
        os.write(printed, f"{SECRET}\n".encode())
        deadline = time.monotonic() + 60
        while not (tmp_path / "log").read_bytes():
            assert time.monotonic() < deadline
            time.sleep(0.01)
        assert (tmp_path / "log").read_bytes() == b"{env:TOKEN}\n"


def test_a_process_that_outlives_the_program_holds_nothing_up(tmp_path):
    code = "import subprocess, sys; subprocess.Popen(['sleep', '60'], start_new_session=True); print(sys.argv[1])"
    launch.run([sys.executable, "-c", code, SECRET], {}, tmp_path / "log", limit=50, hidden=VALUES)
    assert (tmp_path / "log").read_text() == "{env:TOKEN}\n"


def test_a_process_that_prints_for_ever_holds_nothing_up(tmp_path):
    code = "import subprocess, sys; print(sys.argv[1], flush=True); subprocess.Popen(['yes'], start_new_session=True)"
    launch.run([sys.executable, "-c", code, SECRET], {}, tmp_path / "log", limit=50, hidden=VALUES)
    size = (tmp_path / "log").stat().st_size
    time.sleep(0.2)
    # It ends by SIGPIPE: what it prints could not be redacted any more.
    assert (tmp_path / "log").stat().st_size == size
    assert (tmp_path / "log").read_text().startswith("{env:TOKEN}\n")


def test_an_error_shows_the_placeholder(tmp_path, refused):
    def run(*words, limit=60):
        return launch.run(words, {}, tmp_path / "log", limit=limit, hidden=VALUES)

    code = "import sys, time; print(sys.argv[1:], flush=True); time.sleep(float(sys.argv[2])); sys.exit(sys.argv[1])"
    assert "{env:TOKEN}" in refused(run, sys.executable, "-c", code, SECRET, "0")
    late = refused(lambda: run(sys.executable, "-c", code, SECRET, "60", limit=2))
    assert late.startswith(f"{sys.executable}: still runs after 2 s")
    absent = refused(run, f"no/{SECRET}", "x")
    assert absent.startswith("no/{env:TOKEN}: cannot be started")
    for said in (late, absent, (tmp_path / "log").read_text()):
        assert SECRET not in said


def test_a_command_takes_variables_by_name_and_refuses_those_it_cannot_hide(monkeypatch, refused):
    words = command_words.words("train --token {env:TOKEN} --seed {init} '{\"env\": 1}' ${env:OTHER}")
    monkeypatch.delenv("TOKEN", raising=False)
    said = refused(command_words.variables, words, "models.mine.command")
    assert said == "models.mine.command: {env:TOKEN}: the variable TOKEN is not set; such as: export TOKEN=..."
    monkeypatch.setenv("TOKEN", "short")
    said = refused(command_words.variables, words)
    assert "short" not in said.partition("; ")[0]
    assert "has 5 characters; at least 6" in said
    monkeypatch.setenv("TOKEN", "{init} {env:TOKEN}")
    values = command_words.variables(words)
    assert values == {"env:TOKEN": "{init} {env:TOKEN}"}
    # A value is no text with placeholders.
    assert command_words.filled(words, {"init": 7, **values})[2:] == [
        *("{init} {env:TOKEN}", "--seed", "7", '{"env": 1}', "${env:OTHER}")
    ]
    for name in ("env:", "env:1A", "env:A-B", "env:A B"):
        assert f"unknown placeholder {{{name}}}; allowed: " in refused(command_words.words, f"'x {{{name}}}'")


def test_check_takes_variables_and_shows_none(monkeypatch, tmp_path, refused):
    code = "import numpy as np, os, sys; out = os.environ['TOOLNOISE_OUT']; assert len(sys.argv[1]) == 12; "
    code += "[np.save(out + '/' + name + '.npy', np.arange(3)) for name in ('predictions', 'labels')]; print(sys.argv)"
    monkeypatch.delenv("TOKEN", raising=False)
    words = [sys.executable, "-c", code, "{env:TOKEN}"]
    command = reproducibility.command(words, "init", "", None)
    assert "TOKEN is not set" in refused(reproducibility.check, command, tmp_path)
    monkeypatch.setenv("TOKEN", SECRET)
    found = reproducibility.check(command, tmp_path)
    assert found.reproducible
    assert found.words[-1] == "{env:TOKEN}"
    logs = [path.read_text() for path in (tmp_path / "logs").iterdir()]
    assert logs
    assert all("{env:TOKEN}" in log and SECRET[:5] not in log for log in logs)


def test_an_outcome_with_a_value_in_it_is_refused(tmp_path, refused):
    redaction = Redaction(VALUES)
    redaction.require_absent(tmp_path / "history.csv", b"epoch\n1\n")
    said = refused(redaction.require_absent, tmp_path / "history.csv", f"epoch,{SECRET}\n".encode())
    assert "the program wrote the value of {env:TOKEN} into it" in said
    assert SECRET not in said
