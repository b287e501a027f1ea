"""Does `toolnoise check` name the cause in programs that were written before its rules were read?

    python bench/unseen.py [--set held-out] [--only NAME ...] [--plain] [--keep FOLDER]

A verdict is right if check says whether two runs are equal. A first line is right if the line that is named first is
the cause, and what is said of it matches. A sentence is false if a likely line is innocent, if what is said of the
cause does not match, or if the experiment with the hash seed says what is not so; it is doubtful if a possible line is
innocent. `--plain` runs each program three times without check, and says how many results are distinct.
"""

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from unseen_programs import ALSO, CLEAN, FAULT, HELD_OUT, LAST, PLANTED

from toolnoise.base.printing import aligned

SETS = {"first": PLANTED | CLEAN, "held-out": HELD_OUT, "last": LAST}
# A clean program with this at its end has one cause: the line that writes.
STAMP = """
if __name__ == "__main__":
    import time

    with open("preds.csv", "a") as stamped:
        stamped.write(str(time.time_ns()))  #!
"""


def written(text, folder):
    """Write a program's files without their marks; the places that are the cause, and those that may be named."""
    places = {FAULT: set(), ALSO: set()}
    name = "train.py"
    files = {name: []}
    for line in text.strip("\n").splitlines():
        if line.startswith("=== "):
            name = line.removeprefix("=== ")
            files[name] = []
            continue
        files[name].append(line.removesuffix(FAULT).removesuffix(ALSO))
        for mark, marked in places.items():
            if line.endswith(mark):
                marked.add((name, len(files[name])))
    for name, lines in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("".join(f"{line}\n" for line in lines))
    return places[FAULT], places[ALSO]


def environment(program, folder):
    """The variables under which a program runs; a listing in another order is a `sitecustomize` in `site`."""
    if not program.shuffled:
        return os.environ
    (folder / "site").mkdir()
    listing = Path(__file__).with_name("shuffled_listing.py").read_text()
    (folder / "site" / "sitecustomize.py").write_text(listing)
    return os.environ | {"PYTHONPATH": str(folder / "site")}


def output_of(text):
    """The file that a program leaves."""
    return re.search(r"preds\.\w+|model\.pt", text)[0]


def checked(program, text, folder):
    """What check says in JSON, the places of the cause, and those that may be named."""
    fault, also = written(text, folder)
    words = [sys.executable, "train.py", *program.words.split()]
    check = [Path(sys.executable).with_name("toolnoise"), "check", "--json", "--output", output_of(text), "--", *words]
    done = subprocess.run(
        check, cwd=folder, env=environment(program, folder), capture_output=True, text=True, check=False
    )
    if done.returncode not in (0, 1):
        sys.exit(f"{program.cause}: {done.stderr}")
    return json.loads(done.stdout), fault, also


def judged(program, is_planted, said, fault, also):
    """Whether the verdict and the first line are right, and the sentences that are false."""
    named = said["likely"] + said["possible"]

    def place(entry):
        return entry["file"], entry["line"]

    def matches(entry):
        return bool(re.search(program.says, f"{entry['says']} {entry['remedy']}", re.IGNORECASE))

    false = [
        f"{entry['file']}:{entry['line']}: {entry['says']}"
        for entry in said["likely"]
        if place(entry) not in fault | also or (place(entry) in fault and not matches(entry))
    ]
    if said["experiment"] and (said["experiment"] == "no") == program.by_hash:
        false.append(f"experiment: {said['experiment']}")
    doubtful = [
        f"{entry['file']}:{entry['line']}: {entry['says']}"
        for entry in said["possible"]
        if place(entry) not in fault | also
    ]
    if not is_planted:
        return said["reproducible"] and said["passed"], True, false, doubtful
    return not said["reproducible"], bool(named) and place(named[0]) in fault and matches(named[0]), false, doubtful


def results(program, text, folder, runs=3):
    """The digests of what a program leaves in several runs."""
    written(text, folder)
    variables = environment(program, folder)
    digests = []
    for _ in range(runs):
        words = [word.replace("{init}", "1") for word in program.words.split()]
        subprocess.run([sys.executable, "train.py", *words], cwd=folder, env=variables, check=True, capture_output=True)
        digests.append(hashlib.sha256((folder / output_of(text)).read_bytes()).hexdigest())
    return digests


def cases(programs):
    """The name of each case, its program, its text, and whether a cause is planted; a clean program is two cases."""
    for name, program in programs.items():
        is_planted = FAULT in program.text
        yield name, program, program.text, is_planted
        if not is_planted:
            text, *others = re.split(r"(?m)^(?==== )", program.text)
            yield f"{name}+stamp", program, "".join([text.rstrip() + "\n" + STAMP, *others]), True


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", choices=SETS, default="first", help="which programs")
    parser.add_argument("--only", nargs="+", default=[], help="names of programs")
    parser.add_argument("--plain", action="store_true", help="run the programs without check")
    parser.add_argument("--keep", type=Path, help="a folder for what check says of each program, as JSON")
    args = parser.parse_args()
    rows = []
    for name, program, text, is_planted in cases(SETS[args.set]):
        if args.only and name not in args.only and name.removesuffix("+stamp") not in args.only:
            continue
        with tempfile.TemporaryDirectory() as made:
            if args.plain:
                digests = results(program, text, Path(made))
                print(f"{name}: {len(set(digests))} of {len(digests)} results are distinct", flush=True)
                continue
            said, fault, also = checked(program, text, Path(made))
        verdict, first, false, doubtful = judged(program, is_planted, said, fault, also)
        rows.append((name, is_planted, verdict, first, false, doubtful))
        named = [f"{entry['file']}:{entry['line']} {entry['cause']}" for entry in said["likely"] + said["possible"]]
        marks = ["right" if verdict else "WRONG", ("right" if first else "WRONG") if is_planted else ""]
        print(f"{name}: verdict {marks[0]}, first {marks[1] or '-'}; {', '.join(named) or 'nothing named'}", flush=True)
        for sentence in false:
            print(f"    FALSE: {sentence}")
        for sentence in doubtful:
            print(f"    doubtful: {sentence}")
        if args.keep:
            args.keep.mkdir(parents=True, exist_ok=True)
            (args.keep / f"{name}.json").write_text(json.dumps(said, indent=1))
    for title in ("planted", "stamped", "clean"):
        some = [row for row in rows if title == ("clean" if not row[1] else "stamped" if "+" in row[0] else "planted")]
        if some:
            right = {True: "right", False: "WRONG"}
            table = [(row[0], right[row[2]], right[row[3]], str(len(row[4])), str(len(row[5]))) for row in some]
            print("\n" + "\n".join(aligned([(title, "verdict", "first line", "false", "doubtful"), *table])))
            verdicts, firsts = (sum(row[part] for row in some) for part in (2, 3))
            false, doubtful = (sum(len(row[part]) for row in some) for part in (4, 5))
            firsts = f", {firsts} first lines" if title != "clean" else ""
            print(f"of {len(some)} {title}: {verdicts} verdicts{firsts} right, {false} false, {doubtful} doubtful")


if __name__ == "__main__":
    main()
