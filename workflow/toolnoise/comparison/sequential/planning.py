"""The plan of a comparison with looks, made before its first run: `toolnoise plan --sequential`.

It says what is compared (accuracy in percentage points, or a metric), the gain, the most runs of each arm, at which
runs to look and how the level is spent. A plan without `--most` takes the fewest runs with its power.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from toolnoise.base.errors import BadInput
from toolnoise.base.files import read_json, write_json
from toolnoise.comparison.sequential import bounds
from toolnoise.comparison.two_arm_power import difference_power, paired_power

MOST_RUNS, MOST_LOOKS, USUAL_LOOKS = 1000, 100, 5
FEWEST = 2  # runs of each arm at a look: one has no SD
USUAL_SPENDING = "obrien-fleming"  # it saves more runs of the fixed design with the same power (bench/sequential.py)
FORMAT = "toolnoise sequential plan 1"
LARGEST = 1e12


class Plan(NamedTuple):
    """A plan as its file has it; `runs` are the runs of each arm at the looks. Without a metric, it is of accuracy."""

    made: str
    metric: str | None
    lower: bool
    paired: bool
    sd: float
    gain: float
    level: float
    power: float
    spending: str
    futility: bool
    runs: tuple[int, ...]

    @property
    def most(self) -> int:
        """The most runs of each arm."""
        return self.runs[-1]

    @property
    def power_for_gain(self) -> float:
        """The power for the gain if the SD is the planned one."""
        how = {"paired": self.paired, "level": self.level, "spending": self.spending, "futility": self.futility}
        return bounds.power(self.runs, self.gain / self.sd, **how)

    def decisive(self, runs: Sequence[int]) -> list[float]:
        """The two-sided p-value that decides at looks with these runs of each arm; 0 where none does."""
        return bounds.decisive(runs, self.most, self.level, self.spending)


def make(
    sd: float | None,
    gains: Sequence[float] | None,
    looks: int | None,
    every: int | None,
    most: int | None,
    *,
    metric: str | None = None,
    lower: bool = False,
    paired: bool = False,
    rule: str = USUAL_SPENDING,
    futility: bool = False,
    level: float = 0.05,
    power: float = 0.8,
) -> Plan:
    """Check the question and plan it."""
    for name, value in (("--sd", sd), ("--gain", gains[0] if gains and len(gains) == 1 else None)):
        if value is None or not 0 < value < LARGEST:
            given = "nothing" if value is None else f"{value:g}"
            raise BadInput("command line", name, f"found {given}", "--sequential needs one number above 0")
    if looks is not None and every is not None:
        raise BadInput("command line", "--looks", "given with --every", "one of the two")
    for name, value, least, largest in (
        ("--looks", looks, 1, MOST_LOOKS),
        ("--every", every, 1, MOST_RUNS),
        ("--most", most, FEWEST, MOST_RUNS),
    ):
        if value is not None and not least <= value <= largest:
            raise BadInput("command line", name, f"found {value}", f"{least} to {largest}")
    for name, value in (("--level", level), ("--power", power)):
        if not 0 < value < 1 or (name == "--power" and value <= level):
            raise BadInput("command line", name, f"found {value:g}", "a share, of power above the level")
    effect = gains[0] / sd
    runs = schedule(most or needed(effect, looks, every, paired, rule, level, power), looks, every)
    now = datetime.now(UTC).isoformat(timespec="microseconds")
    return Plan(now, metric, lower, paired, sd, gains[0], level, power, rule, futility, runs)


def schedule(most: int, looks: int | None, every: int | None) -> tuple[int, ...]:
    """The runs of each arm at each look: equally spaced, the last with all."""
    if every:
        found = {*range(every, most, every), most}
    else:
        count = looks or USUAL_LOOKS
        found = {-(-most * look // count) for look in range(1, count + 1)}
    found = tuple(sorted(runs for runs in found if runs >= FEWEST))
    if len(found) > MOST_LOOKS:
        raise BadInput("command line", "--every", f"found {len(found)} looks", f"at most {MOST_LOOKS}")
    return found


def needed(
    effect: float, looks: int | None, every: int | None, paired: bool, rule: str, level: float, power: float
) -> int:
    """The most runs of each arm with which a gain of so many SDs is found with this power."""
    most = fixed = next(
        (runs for runs in range(FEWEST, MOST_RUNS + 1) if fixed_power(runs, effect, paired, level) >= power), None
    )
    if fixed is None:
        raise BadInput("command line", "--gain", f"found {effect:.3g} SDs", f"one that {MOST_RUNS} runs can show")
    # Looks cost a few per cent of the runs.
    while (
        most <= MOST_RUNS
        and bounds.power(schedule(most, looks, every), effect, paired=paired, level=level, spending=rule) < power
    ):
        most += max(1, most // 50)
    if most > MOST_RUNS:
        raise BadInput("command line", "--gain", f"found {effect:.3g} SDs", f"one that {MOST_RUNS} runs can show")
    return most


def fixed_power(runs: float, effect: float, paired: bool, level: float) -> float:
    """The power of the test with one look, for a difference of so many SDs (of the pairs' differences, if paired)."""
    power_of = paired_power if paired else difference_power
    return float(power_of(runs, effect, 1.0, level))


def write(plan: Plan, path: str) -> None:
    """Write a plan; one that is there stays, because looks may have been made by it."""
    if Path(path).exists():
        raise BadInput(path, "", "is there already", "a new name: a plan is made once")
    write_json(path, {"format": FORMAT} | plan._asdict())


def read(path: str) -> Plan:
    """A plan from its file."""
    found = read_json(path)
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise BadInput(path, "format", "no sequential plan", "what toolnoise plan --sequential --out wrote")
    names = {*Plan._fields, "format"}
    if {*found} != names:
        wrong = sorted(names ^ {*found})[0]
        raise BadInput(path, wrong, "missing or unknown", "what toolnoise plan --sequential --out wrote")
    plan = Plan(**{name: value for name, value in found.items() if name != "format"})
    _require_sound(path, plan)
    return plan._replace(runs=tuple(plan.runs))


def _require_sound(path: str, plan: Plan) -> None:
    def require(key: str, sound: bool, allowed: str) -> None:
        if not sound:
            raise BadInput(path, key, f"found {getattr(plan, key)!r}", allowed)

    for key in ("lower", "paired", "futility"):
        require(key, isinstance(getattr(plan, key), bool), "true or false")
    for key, largest in (("sd", LARGEST), ("gain", LARGEST), ("level", 1), ("power", 1)):
        value = getattr(plan, key)
        require(key, type(value) in (int, float) and 0 < value < largest, "a number above 0")
    require("metric", plan.metric is None or isinstance(plan.metric, str), "a column's name, or null")
    require("spending", plan.spending in tuple(bounds.SPENDING), " or ".join(bounds.SPENDING))
    runs = plan.runs
    whole = isinstance(runs, list) and 0 < len(runs) <= MOST_LOOKS and all(type(count) is int for count in runs)
    rising = whole and runs == sorted({*runs}) and runs[0] >= FEWEST and runs[-1] <= MOST_RUNS
    require("runs", rising, f"rising numbers of runs, {FEWEST} to {MOST_RUNS}")
    try:
        made = datetime.fromisoformat(plan.made) if isinstance(plan.made, str) else None
    except ValueError:
        made = None
    require("made", made is not None and made.tzinfo is not None, "a time with its zone")


def as_json(plan: Plan) -> dict[str, Any]:
    """The plan for programs, with the p-value that decides at each look."""
    looks = [
        {"runs_per_arm": runs, "decides_at_p": decides}
        for runs, decides in zip(plan.runs, plan.decisive(plan.runs), strict=True)
    ]
    return plan._asdict() | {"runs": list(plan.runs), "looks": looks, "power_for_gain": plan.power_for_gain}


def as_text(plan: Plan, path: str) -> str:
    """The plan, for a person."""
    found = as_json(plan)
    what = plan.metric or "accuracy, in points"
    lines = [
        f"{path}: {what}; {'lower' if plan.lower else 'higher'} is better; "
        f"{'paired' if plan.paired else 'independent'} arms of at most {plan.most} runs each.",
        f"Power {found['power_for_gain']:.2f} for a gain of {plan.gain:g} if the SD "
        f"{'of differences ' * plan.paired}is {plan.sd:g}; two-sided level {plan.level:g}, spent as {plan.spending}.",
        "Look with `compare A B --peek` at these runs of each arm; p at most decides:",
    ]
    for look in found["looks"]:
        decides = look["decides_at_p"]
        lines.append(f"  {look['runs_per_arm']:6}  {f'p {decides:.2g}' if decides else 'not yet'}")
    if plan.futility:
        lines.append(
            f"Stop for futility below {100 * bounds.FUTILE:.0f} % conditional power, from half of the runs on."
        )
    return "\n".join(lines)
