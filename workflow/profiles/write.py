"""Write the Slurm profiles from slurm.template: `python workflow/profiles/write.py`."""

import string
import textwrap
from pathlib import Path

HERE = Path(__file__).parent
# Each profile: its study in workflow/studies, the toolings that it runs, and what they are for.
PROFILES = {
    "slurm": (
        "paper",
        ("p100", "v100", "rtx5000", "rtx5000-tc", "t4"),
        "All GPU columns of the paper, on Slurm: {command}. The TPU column needs a TPU machine.",
    ),
    "slurm-p100": ("paper", ("p100",), "The paper's P100 column, on Slurm: {command}."),
    "slurm-v100": ("paper", ("v100",), "The paper's V100 column, on Slurm: {command}."),
    "slurm-rtx5000": (
        "paper",
        ("rtx5000", "rtx5000-tc"),
        "The paper's RTX5000 columns, without and with tensor cores, on Slurm: {command}.",
    ),
    "slurm-t4": (
        "paper",
        ("t4",),
        "The cost of determinism on a T4, on Slurm: {command}. The paper trained nothing on a T4.",
    ),
}


def text_of(profile: str) -> str:
    """The text of a profile."""
    study, only, about = PROFILES[profile]
    about = about.format(command=f"`snakemake --profile {profile}` (docs/cluster.md)")
    lines = textwrap.wrap(about, 118, break_long_words=False, break_on_hyphens=False)
    template = string.Template((HERE / "slurm.template").read_text("utf-8"))
    return template.substitute(about="\n".join(f"# {line}" for line in lines), study=study, only=", ".join(only))


if __name__ == "__main__":
    for profile in PROFILES:
        (HERE / profile / "config.yaml").write_text(text_of(profile), "utf-8")
