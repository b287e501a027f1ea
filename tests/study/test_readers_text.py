"""The reader of text, against a few lines that do the same in another way, and on files in their published form."""

import hashlib
import itertools
import re
import zipfile
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from official_formats import packed

from toolnoise.base.program import ROOT
from toolnoise.datasets.readers import text
from toolnoise.datasets.sources import sources
from toolnoise.study import config, job_code
from toolnoise.study.entries import has_groups

POEM = ROOT / "resources/texts/paradise-lost.txt"
# In the form of ptb.train.txt: lower case, spaces around each line, `N` for numbers and `<unk>` for rare words.
TREEBANK = {
    "train": " pierre <unk> N years old will join the board as a nonexecutive director nov. N \n"
    " mr. <unk> is chairman of <unk> n.v. the dutch publishing group \n",
    "valid": " the board of the group \n",
    "test": " no it was n't black monday \n the board is old \n",
}
# In the form of wiki.train.tokens: empty lines, headings between `=`, and `@-@` where a hyphen was.
WIKITEXT = {
    "train": " \n = Valkyria Chronicles III = \n \n Senjō no Valkyria 3 : <unk> Chronicles ( Japanese : 戦場の ) \n"
    " is a tactical role @-@ playing game \n",
    "valid": " \n = Homarus = \n",
    "test": " \n = Robert <unk> = \n \n Robert is a role @-@ playing actor \n",
}


def read(**entry):
    return text.read("mine", {"tokens": "bytes", "length": 4, **entry}, 1, None)


def of_one(folder, content, **entry):
    """Read a text of which the last part is the test part."""
    path = folder / "mine.txt"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read(path=str(path), **{"test_share": 0.5, **entry})


def of_two(folder, train, test, **entry):
    for part, content in (("train", train), ("test", test)):
        (folder / f"{part}.txt").write_bytes(content if isinstance(content, bytes) else content.encode())
    return read(path=str(folder), **entry)


def stream(part):
    """The tokens of a part, but for those that its last segment has no room for."""
    return [*part.images.ravel().tolist(), int(part.labels[-1, -1])]


def names(raw, part):
    return [raw.classes[number] for number in stream(part)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """One folder for all examples of a test that draws them."""
    return tmp_path_factory.mktemp("drawn")


@pytest.fixture(scope="module")
def poem():
    return text.read("poem", config.registered("datasets")["paradise-lost"], 1, None)


@given(st.binary(min_size=1), st.integers(1, 9))
def test_segments_are_those_of_the_definition(folder, content, length):
    content = content * (2 * length + 2)
    raw = of_two(folder, content, content[: length + 2], length=length)
    assert raw.outcome == "tokens"
    for part, whole in ((raw.train, content), (raw.test, content[: length + 2])):
        count = (len(whole) - 1) // length
        assert part.images.dtype == np.uint16
        assert part.labels.dtype == np.int32
        assert part.images.tolist() == [list(whole[i * length : i * length + length]) for i in range(count)]
        assert part.labels.tolist() == [list(whole[i * length + 1 : i * length + length + 1]) for i in range(count)]


@given(st.text(min_size=3).map(lambda drawn: drawn.replace("\r", "")), st.integers(1, 3))
def test_characters_are_decoded_to_the_text_that_they_were_read_from(folder, drawn, length):
    drawn = drawn * 2
    raw = of_two(folder, drawn, drawn, tokens="characters", length=length)
    alphabet = sorted(set(drawn))
    assert len(set(raw.classes)) == len(raw.classes) == len(alphabet)
    for part in (raw.train, raw.test):
        decoded = "".join(alphabet[number] for number in stream(part))
        assert decoded == drawn[: len(decoded)]
        assert len(decoded) + length > len(drawn)


PIECES = st.lists(st.text("abé\\ ", min_size=1, max_size=5), min_size=1, max_size=12, unique=True)


def greedy(content, pieces):
    """Longest match by a regular expression whose alternatives are sorted by their length."""
    longest = sorted((piece.encode() for piece in pieces), key=len, reverse=True)
    return re.findall(b"|".join(map(re.escape, longest)) + b"|(?s:.)", content)


@given(PIECES, st.text("abcé\\ \n\x85", min_size=2), st.binary(max_size=3))
def test_sub_words_are_the_longest_pieces_and_are_decoded_to_the_same_bytes(folder, pieces, drawn, noise):
    content = drawn.encode() + noise
    content += content
    (folder / "pieces").write_text("\n".join(pieces) + "\n", newline="")
    raw = of_two(folder, content, content, tokens="subwords", length=1, vocabulary=str(folder / "pieces"))
    units = [bytes([byte]) for byte in range(256)] + [piece.encode() for piece in pieces if len(piece.encode()) > 1]
    assert len(raw.classes) == len(set(raw.classes)) == len(units)
    found = [units[number] for number in stream(raw.train)]
    assert found == greedy(content, pieces)
    assert b"".join(found) == content


def test_a_piece_is_used_before_a_shorter_one_even_if_the_rest_then_fits_worse(tmp_path):
    (tmp_path / "pieces").write_text("ab\nabc\ncd\n d\n")
    vocabulary = str(tmp_path / "pieces")
    raw = of_two(tmp_path, b"abcd dab\xff", b"abcd", tokens="subwords", vocabulary=vocabulary, length=1)
    assert names(raw, raw.train) == ["abc", "d", "␣d", "ab", "\\xff"]
    assert names(raw, raw.test) == ["abc", "d"]
    assert raw.classes[256:] == ["ab", "abc", "cd", "␣d"]


WORDS = st.lists(st.lists(st.sampled_from(["a", "b", "Ä", "the", "<unk>", "<eos>", "N"]), max_size=6), min_size=3)


@given(WORDS, st.integers(1, 6) | st.none())
def test_words_are_those_of_another_way_to_count_them(folder, lines, most):
    content = "\n".join(map(" ".join, lines)) + "\n"
    limit = {} if most is None else {"most": most}
    raw = of_two(folder, content, "z a\n" + content, tokens="words", length=1, **limit)
    flat = (" \n".join(map(" ".join, lines)).replace("\n", "<eos> ") + " <eos>").split()
    kept = sorted(dict.fromkeys(flat), key=lambda word: (-flat.count(word), flat.index(word)))[:most]
    kept += [word for word in ("<eos>", "<unk>") if word not in kept]
    assert raw.classes == kept
    assert names(raw, raw.train) == [word if word in kept else "<unk>" for word in flat]
    assert names(raw, raw.test) == [word if word in kept else "<unk>" for word in ["z", "a", "<eos>", *flat]]


@given(st.text("aabbbbcdefgh", min_size=4), st.lists(st.integers(0, 9), min_size=1, max_size=4, unique=True))
def test_groups_are_by_the_count_of_the_label_in_the_whole_training_part(folder, drawn, bounds):
    counts = Counter(drawn)
    edges = [-1, *sorted(bounds), 10**9]
    wanted = [[low < counts[one] <= high for low, high in itertools.pairwise(edges)] for one in drawn]
    used = (len(drawn) - 1) // 3 * 3
    present = np.array(wanted[1 : used + 1]).any(0)
    build = lambda: of_two(folder, drawn, drawn, tokens="characters", length=3, frequency=bounds)  # noqa: E731
    if not present.all():
        with pytest.raises(text.BadInput, match="dataset mine: frequency: no label of the test part is in "):
            build()
        return
    raw = build()
    for part in (raw.train, raw.test):
        assert part.groups.dtype == bool
        assert part.groups.shape == (*part.labels.shape, len(raw.groups))
        assert part.groups.reshape(-1, len(raw.groups)).tolist() == wanted[1 : used + 1]


def test_groups_are_named_by_their_bounds_in_order(tmp_path):
    raw = of_two(tmp_path, "a b\n", "a c b\n", tokens="words", length=1, frequency=[0])
    assert raw.groups == ("up-to-0", "over-0")
    raw = of_two(tmp_path, "a" * 3 + "b" * 20 + "c" * 200, "abca", tokens="characters", length=1, frequency=[100, 10])
    assert raw.groups == ("up-to-10", "from-11-to-100", "over-100")
    assert raw.test.groups[:, 0].tolist() == [[False, True, False], [False, False, True], [True, False, False]]
    pattern = config.schema()["$defs"]["dataset"]["properties"]["groups"]["propertyNames"]["pattern"]
    assert all(re.search(pattern, group) for group in raw.groups)
    assert has_groups({"reader": "text", "frequency": [1]})
    assert not has_groups({"reader": "text"})


def test_the_last_share_of_a_text_is_its_test_part(tmp_path):
    raw = of_one(tmp_path, bytes(range(100)), length=3, test_share=0.125)
    # 12.5 tokens: Python rounds a half to the even number.
    assert raw.test.images.ravel().tolist() == list(range(88, 97))
    assert raw.train.images.ravel().tolist() == list(range(87))
    words = of_one(tmp_path, "a b\nc d\n", length=1, test_share=0.5, tokens="words")
    assert (words.classes, names(words, words.train)) == (["a", "b", "<eos>", "<unk>"], ["a", "b", "<eos>"])
    assert names(words, words.test) == ["<unk>", "<unk>", "<eos>"]


def test_names_of_classes_can_be_printed_and_differ(tmp_path):
    shown = of_two(tmp_path, b"0123456789", b"01234").classes
    wanted = ["\\n", "\\t", "␣", "a", "\\\\", "~", "\\x7f", "\\x80", "\\xe9"]
    assert [shown[byte] for byte in b"\n\t a\\~\x7f\x80\xe9"] == wanted
    assert len(set(shown)) == 256
    tricky = ["\x85", "\\", " ", "␣", "é", "\u2028", "\U000e0001", "\ue000", "'", '"', "\0", "n", "\n"]
    drawn = "".join(tricky)
    shown = of_two(tmp_path, drawn, drawn, tokens="characters").classes
    assert len(set(shown)) == len(tricky)
    assert all(name.isprintable() and " " not in name for name in shown)
    # NumPy drops zeros at the end of a text, so a name must survive its array.
    assert np.array(shown).tolist() == shown


def test_more_than_65536_words_need_four_bytes(tmp_path):
    words = " ".join(map(str, range(2**16 - 2)))
    raw = of_two(tmp_path, words + "\n", "5 6\n", tokens="words", length=2)
    assert (len(raw.classes), raw.train.images.dtype) == (2**16, np.uint16)
    raw = of_two(tmp_path, words + " more\n", "5 6\n", tokens="words", length=2)
    assert (len(raw.classes), raw.train.images.dtype) == (2**16 + 1, np.uint32)
    assert raw.train.images.ravel()[-1] == 2**16 - 3 + len(raw.train.images) * 2 % 2


# The embedded text.


@pytest.mark.parametrize(
    ("name", "first", "last"),
    [
        ("paradise-lost", b"Book I\n\n\nOf Man's first disobedience, and the fruit\n", b"took their solitary way.\n"),
        ("as-you-like-it", b"ACT I\n\n\n\nSCENE I\tOrchard of Oliver's house.\n", b"bid me farewell.\n\n\t[Exeunt]\n"),
    ],
)
def test_an_embedded_text_is_the_one_that_the_registry_describes(name, first, last):
    content = (POEM.parent / f"{name}.txt").read_bytes()
    comments = (ROOT / "resources/datasets.yaml").read_text()
    assert f"SHA-256 {hashlib.sha256(content).hexdigest()}\n" in comments
    assert f"{len(content):,} bytes of ASCII" in comments
    assert content.isascii()
    assert not re.search(rb"\r| \n|\x1a", content)
    assert content.startswith(first)
    assert content.endswith(last)
    named = config.schema()["$defs"]["dataset"]["properties"]["embedded"]["enum"]
    assert named == sorted(path.stem for path in POEM.parent.iterdir())


def test_the_characters_and_words_of_the_poem_are_counted_as_in_the_file(poem):
    content = POEM.read_text()
    start = len(content) - round(0.1 * len(content))
    assert poem.train.images.shape == ((start - 1) // 64, 64) == (6424, 64)
    assert poem.test.images.shape == ((len(content) - start - 1) // 64, 64) == (713, 64)
    assert len(poem.classes) == len(set(content[:start])) == 75
    assert names(poem, poem.train)[:6] == ["B", "o", "o", "k", "␣", "I"]
    counts = Counter(content[:start])
    labels = content[start + 1 : start + 1 + 713 * 64]
    rare = np.array([counts[label] for label in labels])
    shares = [np.mean(rare <= 1000), np.mean((rare > 1000) & (rare <= 10000)), np.mean(rare > 10000)]
    assert poem.test.groups.mean((0, 1)).tolist() == pytest.approx(shares)
    assert [round(100 * share, 1) for share in shares] == [2.2, 22.3, 75.5]
    # As words, `<eos>` is the most frequent one, and `<unk>` is none of the poem's.
    raw = text.read("poem", config.registered("datasets")["paradise-lost-words"], 1, None)
    words = content.replace("\n", " <eos> ").split()
    train = words[: len(words) - round(0.1 * len(words))]
    assert (len(words), len(raw.classes), raw.classes[0], raw.classes[-1]) == (90281, 2001, "<eos>", "<unk>")
    unknown = sum(word not in set(raw.classes) for word in train) / len(train)
    assert f"{100 * unknown:.0f} % of the training words" in (ROOT / "resources/datasets.yaml").read_text()


def test_the_embedded_text_is_part_of_what_the_data_set_is_made_by():
    parameters = {"dataset": "poem", "entry": config.registered("datasets")["paradise-lost"]}
    made_by = job_code.digests_of_sources("prepare", parameters)
    assert made_by["resources/texts/paradise-lost.txt"] == hashlib.sha256(POEM.read_bytes()).hexdigest()
    assert "workflow/toolnoise/datasets/readers/text.py" in made_by
    assert job_code.files("prepare", {"dataset": "digits", "entry": {"reader": "digits"}}) == ()


# Files as they are published.


def test_penn_treebank_is_read_from_its_files(tmp_path):
    for part, content in TREEBANK.items():
        (tmp_path / f"ptb.{part}.txt").write_text(content)
    raw = read(path=str(tmp_path), tokens="words", length=5)
    words = TREEBANK["train"].replace("\n", "<eos>").split()
    assert names(raw, raw.train) == words[: (len(words) - 1) // 5 * 5 + 1]
    # The data set has its own word for others: words that only the test part has become it.
    assert len(raw.classes) == len(set(words))
    assert names(raw, raw.test)[:8] == ["<unk>"] * 6 + ["<eos>", "the"]
    by_files = {part: {"path": str(tmp_path / f"ptb.{part}.txt")} for part in ("train", "test")}
    again = read(files=by_files, tokens="words", length=5)
    assert (again.train.labels == raw.train.labels).all()
    assert (again.test.images == raw.test.images).all()


@pytest.mark.parametrize("name", ["wikitext-2-v1.zip", "wikitext-2.tar.gz", "folder"])
def test_wikitext_is_read_from_its_archive_and_from_its_folder(name, tmp_path):
    members = {f"wikitext-2/wiki.{part}.tokens": content for part, content in WIKITEXT.items()}
    path = tmp_path / name
    if name == "folder":
        (path / "wikitext-2").mkdir(parents=True)
        for member, content in members.items():
            (path / member).write_text(content)
    elif path.suffix == ".zip":
        with zipfile.ZipFile(path, "w") as archive:
            for member, content in members.items():
                archive.writestr(member, content)
    else:
        path.write_bytes(packed({member: content.encode() for member, content in members.items()}, "w:gz"))
    raw = read(path=str(path), tokens="words", length=3)
    words = WIKITEXT["train"].replace("\n", "<eos>").split()
    assert names(raw, raw.train)[:9] == ["<eos>", "=", "Valkyria", "Chronicles", "III", "=", "<eos>", "<eos>", "Senjō"]
    assert names(raw, raw.train) == words[: (len(words) - 1) // 3 * 3 + 1]
    assert names(raw, raw.test)[:6] == ["<eos>", "=", "<unk>", "<unk>", "=", "<eos>"]
    assert raw.classes[0] == "<eos>"


def test_a_list_of_words_is_the_vocabulary_and_a_file_of_the_data_set(tmp_path):
    (tmp_path / "words").write_bytes(b"the\r\nboard\r\nzebra\n")
    entry = {"tokens": "words", "vocabulary": str(tmp_path / "words"), "unknown": "?"}
    raw = of_two(tmp_path, "the old board\n", "a board the\n", length=1, **entry)
    assert raw.classes == ["the", "board", "zebra", "<eos>", "?"]
    assert names(raw, raw.train) == ["the", "?", "board", "<eos>"]
    assert of_two(tmp_path, "the old board\n", "a board the\n", length=1, most=1, **entry).classes == [
        "the",
        "<eos>",
        "?",
    ]
    assert [source["path"] for source in sources({"path": "a", **entry})] == ["a", str(tmp_path / "words")]


# Bad input.


def test_a_character_that_training_lacks_is_one_line_with_its_place(tmp_path, refused):
    line = refused(lambda: of_two(tmp_path, "abc\nabc\n", "ab\nca\na\té\n", tokens="characters"))
    assert line.startswith(f"{tmp_path}: test.txt: line 3: found \\t, which the training part lacks; ")
    line = refused(lambda: of_one(tmp_path, "ab\nca\nab\nca\nabécaca\n", tokens="characters"))
    assert line.startswith(f"{tmp_path}/mine.txt: line 5: found é, which the training part lacks; ")


@pytest.mark.parametrize("content", [b"", b"0", b"01234", b"012345678"])
@pytest.mark.parametrize("tokens", ["bytes", "characters", "words"])
def test_a_text_shorter_than_a_segment_and_its_last_label_is_one_line(content, tokens, tmp_path, refused):
    line = refused(lambda: of_one(tmp_path, content, tokens=tokens))
    assert re.fullmatch(r".*mine.txt: (train|test): found [0-4] tokens; allowed: 5 to 16777216", line)
    # The shortest has one segment in each part.
    raw = of_one(tmp_path, b"0123456789")
    assert len(raw.train.images) == len(raw.test.images) == 1
    assert raw.groups == ()


def test_too_many_tokens_are_one_line(tmp_path, monkeypatch, refused):
    assert text.MOST == 2**24
    monkeypatch.setattr(text, "MOST", 20)
    assert len(of_two(tmp_path, b"0" * 20, b"01234").train.images) == 4
    line = refused(lambda: of_two(tmp_path, b"0" * 21, b"01234"))
    assert line == f"{tmp_path}: train.txt: train: found 21 tokens; allowed: 5 to 20"


@pytest.mark.parametrize("tokens", ["characters", "words"])
def test_bytes_that_are_not_utf_8_are_one_line_with_their_place(tokens, tmp_path, refused):
    line = refused(lambda: of_one(tmp_path, b"abc\nab\xe9c\n", tokens=tokens))
    assert line == f"{tmp_path}/mine.txt: line 2: found \\xe9, which is not UTF-8; a text in UTF-8"


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("a\nb\na\n", "line 3: repeats line 1"),
        ("a\n\nb\n", "line 2: empty"),
        ("", "line 1: empty"),
        (b"a\n\xff\n", "line 2: found \\xff, which is not UTF-8"),
    ],
)
@pytest.mark.parametrize("tokens", ["words", "subwords"])
def test_a_bad_vocabulary_is_one_line(tokens, content, problem, tmp_path, refused):
    path = tmp_path / "vocabulary"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    line = refused(lambda: of_one(tmp_path, "a b c d e f g h", tokens=tokens, vocabulary=str(path)))
    assert line.startswith(f"{path}: {problem}; ")


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ({"path": "absent.txt", "test_share": 0.5}, "absent.txt: no such file; expected a text"),
        ({"path": "absent"}, "absent: no such file; expected a folder, a .tar"),
        ({"path": "."}, ".: no pair of texts; allowed: ptb.train.txt and ptb.test.txt, wiki.train.tokens and "),
        ({"path": ".", "test_share": 0.5}, ".: cannot be read (a folder is in the way); expected a text"),
    ],
)
def test_a_missing_file_is_one_line(entry, problem, tmp_path, monkeypatch, refused):
    monkeypatch.chdir(tmp_path)
    assert refused(lambda: read(**entry)).startswith(problem)
