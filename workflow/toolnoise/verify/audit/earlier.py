"""The jobs of results that were made when one job wrote all of the page and was the root."""

from collections.abc import Iterable, Iterator

from toolnoise.steps import PAGE, Job
from toolnoise.study import layout
from toolnoise.verify.tree import Tree

# What that job wrote, by its options.
WROTE = {
    "out": layout.PAGE,
    "out-statements": layout.STATEMENTS,
    "out-tables": layout.PAGE_PARTS + "/tables.js",
    "out-compared": layout.PAGE_PARTS + "/compared.js",
}


def jobs(tree: Tree, now: Iterable[Job]) -> Iterator[Job]:
    """The jobs of a study; those of the page as they were, where the page's own job showed the statements."""
    shown = tree.producer(layout.STATEMENTS.format(study=tree.name))
    if shown is None or shown.statement.verb != PAGE:
        yield from now
        return
    outputs = tuple((pattern.format(study=tree.name), option) for option, pattern in WROTE.items())
    wrote = {name for name, _ in outputs}
    for job in now:
        if job.verb == PAGE:
            yield job._replace(parameters={"study": tree.name}, outputs=outputs)
        elif wrote.isdisjoint(name for name, _ in job.outputs):
            yield job
