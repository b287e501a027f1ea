"""Data sets with many labels in figures by sub-group: one label, as in the paper's tables, beside all of them together.

Zhuang et al. train 40 labels of CelebA at once. Their code counts the errors of all labels together; the counts of
their table 3 and the SDs of their table 5 are those of one.
"""

from collections.abc import Mapping, Sequence

import pandas as pd

from toolnoise.base.metric_files import of_label

TOGETHER = "all labels"


def apart(
    table: pd.DataFrame, tasks: Sequence[Sequence[str]], label_of: Mapping[str, str]
) -> tuple[pd.DataFrame, list[list[str]]]:
    """A table and tasks, each data set of `label_of` as two: the one of its label, and that of all labels together.

    The groups of both are sub-groups, and `all`: the label on all examples, and all labels on all examples.
    """
    if not label_of:
        return table, [list(task) for task in tasks]
    many = table["dataset"].isin(list(label_of))
    names = {dataset: [f"{dataset}: {label}", f"{dataset}: {TOGETHER}"] for dataset, label in label_of.items()}
    of_one, of_all = table[many], table[many & ~table["group"].str.contains(":", regex=False)]
    both = [
        rows.assign(dataset=rows["dataset"].map(lambda dataset, place=place: names[dataset][place]))
        for place, rows in enumerate((of_label(of_one, label_of), of_all))
    ]
    shown = [[model, name] for model, dataset in tasks for name in names.get(dataset, [dataset])]
    return pd.concat([table[~many], *both]), shown
