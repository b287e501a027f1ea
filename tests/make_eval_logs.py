"""Makes tests/comparison/eval_logs.tar.xz: logs that lm-evaluation-harness 0.4.13 and Inspect 0.3.285 wrote themselves.

Neither belongs to the tests' environment, so each has one of its own, and the script runs in both:

    /other/lm-eval/bin/python tests/make_eval_logs.py lm_eval FOLDER
    /other/inspect/bin/python tests/make_eval_logs.py inspect FOLDER
    python tests/make_eval_logs.py pack FOLDER

The models are a few lines that answer sums. What is easy for one is easy for the other, and B is a little better.
"""

import hashlib
import json
import os
import sys
import tarfile
from pathlib import Path

QUESTIONS, PASSAGE = 100, 5
ABILITY = {"a": 0.5, "b": 0.57}
RUNS = (1, 2)
INSPECTED = 12
ARCHIVE = Path(__file__).parent / "comparison/eval_logs.tar.xz"
TASKS = {
    "sums": """
task: sums
dataset_path: json
dataset_kwargs: {data_files: {test: sums.jsonl}}
test_split: test
output_type: generate_until
doc_to_text: "{{question}}"
doc_to_target: "{{answer}}"
generation_kwargs: {until: ["\\n"], do_sample: true, temperature: 0.7}
metric_list: [{metric: exact_match, aggregation: mean, higher_is_better: true}]
filter_list:
  - {name: strict-match, filter: [{function: take_first}]}
  - {name: flexible-extract, filter: [{function: regex, regex_pattern: "(\\\\d+)"}, {function: take_first}]}
""",
    "choices": """
task: choices
dataset_path: json
dataset_kwargs: {data_files: {test: sums.jsonl}}
test_split: test
output_type: multiple_choice
doc_to_text: "{{question}}"
doc_to_choice: "{{choices}}"
doc_to_target: "{{place}}"
metric_list: [{metric: acc}, {metric: acc_norm}]
""",
}


def chance(*words):
    """A number between 0 and 1 that belongs to some words."""
    return int.from_bytes(hashlib.sha256(repr(words).encode()).digest()[:6], "big") / 2**48


def answer(arm, run, question, sample=0):
    """What a model answers: a sum that is right, wrong, or right with words around it."""
    first, second = (int(word) for word in question.split("=")[0].split("+"))
    hard = 0.65 * chance("question", question) + 0.35 * chance(arm, run, question, sample)
    right = str(first + second)
    if hard > ABILITY[arm]:
        return str(first + second + (1 if hard < 0.8 else 10))
    return f"It is {right}" if chance("words", arm, run, question) > 0.9 else right


def documents():
    """The questions, of which those of a passage stand together."""
    for place in range(QUESTIONS):
        total = place + 3
        choices = [str(total + step) for step in (0, 1, 10)]
        turn = place % 3
        yield {
            "question": f"{place} + 3 =",
            "answer": str(total),
            "choices": choices[turn:] + choices[:turn],
            "place": (3 - turn) % 3,
            "passage_id": f"p{place // PASSAGE}",
        }


def of_lm_eval():
    """A folder for each arm and run, with the samples of both tasks, as `lm_eval --log_samples` leaves them."""
    import lm_eval
    from lm_eval.api.model import LM
    from lm_eval.loggers import EvaluationTracker
    from lm_eval.tasks import TaskManager

    class Sums(LM):
        def __init__(self, arm, run):
            super().__init__()
            self.arm, self.run = arm, run

        def generate_until(self, requests, **_):
            return [answer(self.arm, self.run, request.args[0]) for request in requests]

        def loglikelihood(self, requests, **_):
            odds = []
            for request in requests:
                question, choice = request.args
                likely = choice.strip() == answer(self.arm, self.run, question).split()[-1]
                odds.append((-0.1 if likely else -1.0 - len(choice) / 10, likely))
            return odds

        def loglikelihood_rolling(self, requests, **_):
            return [-1.0 for _ in requests]

    Path("sums.jsonl").write_text("".join(json.dumps(document) + "\n" for document in documents()))
    Path("tasks").mkdir(exist_ok=True)
    for name, text in TASKS.items():
        Path(f"tasks/{name}.yaml").write_text(text)
    for arm in ABILITY:
        for run in RUNS:
            tracker = EvaluationTracker(output_path=f"lm_eval/{arm}{run}/results.json")
            found = lm_eval.simple_evaluate(
                Sums(arm, run), tasks=list(TASKS), task_manager=TaskManager(include_path="tasks"), log_samples=True
            )
            samples = found.pop("samples")
            tracker.save_results_aggregated(results=found, samples=samples)
            for name, of_task in samples.items():
                tracker.save_results_samples(name, of_task)


def of_inspect():
    """A log of each arm in both formats, of a task of two epochs and two scorers, and one with a sample not scored."""
    import inspect_ai
    from inspect_ai import Task
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.model import ModelOutput
    from inspect_ai.scorer import accuracy, includes, match, scorer
    from inspect_ai.solver import solver

    @solver
    def sums(arm):
        # No model is called: mockllm fetches a tokenizer.
        async def solve(state, generate):  # noqa: ARG001
            said = answer(arm, 1, state.input_text, state.epoch)
            state.output = ModelOutput.from_content("mockllm/model", said)
            state.messages.append(state.output.message)
            return state

        return solve

    # An error would leave a traceback, with the paths of the machine.
    @scorer(metrics=[accuracy()], name="match")
    def fails(question):
        usual = match()

        async def score(state, target):
            return None if state.sample_id == question else await usual(state, target)

        return score

    samples = [
        Sample(id=f"q{place}", input=each["question"], target=each["answer"], metadata={"passage_id": f"p{place // 2}"})
        for place, each in enumerate(list(documents())[:INSPECTED])
    ]
    for arm in ABILITY:
        for kind in ("eval", "json"):
            task = Task(dataset=MemoryDataset(samples), solver=sums(arm), scorer=[match(), includes()], name="sums")
            written(inspect_ai.eval, task, kind, f"inspect/{arm}.{kind}", 2)
    task = Task(dataset=MemoryDataset(samples), solver=sums("a"), scorer=fails("q3"), name="sums")
    written(inspect_ai.eval, task, "eval", "inspect/failed.eval", 1)


def written(evaluate, task, kind, path, epochs):
    (log,) = evaluate(task, model="mockllm/model", epochs=epochs, log_dir="logs", log_format=kind, display="none")
    Path(path).parent.mkdir(exist_ok=True)
    Path(log.location.removeprefix("file://")).replace(path)


def pack():
    """The logs in one archive, with nothing of the machine that made it."""

    def plain(member):
        member.uid = member.gid = member.mtime = 0
        member.uname = member.gname = ""
        return member

    kept = sorted(path for kind in ("lm_eval", "inspect") for path in Path(kind).rglob("*") if path.is_file())
    with tarfile.open(ARCHIVE, "w:xz", preset=9) as archive:
        for path in kept:
            if not path.name.startswith("results"):
                archive.add(path, filter=plain)
    print(f"{ARCHIVE}: {ARCHIVE.stat().st_size} bytes")


if __name__ == "__main__":
    what, folder = sys.argv[1:]
    Path(folder).mkdir(parents=True, exist_ok=True)
    os.chdir(folder)
    {"lm_eval": of_lm_eval, "inspect": of_inspect, "pack": pack}[what]()
