"""What `export` and `import` ask a study."""

from pathlib import Path

from toolnoise import streams
from toolnoise.base.spec import Spec
from toolnoise.provenance.sharing import StudyHere
from toolnoise.study import checks, job_code, layout
from toolnoise.study.cells import Pair
from toolnoise.study.study import Study


def of(study: Study, root: Path) -> StudyHere:
    """A study whose results are in the folder `root`."""

    def records(job: checks.ExpectedJob) -> list[str]:
        return study.runs(layout.RECORD, job.place.cells[0] if isinstance(job.place, Pair) else job.place)

    def keys(spec: dict) -> dict:
        return streams.keys(Spec.read(spec))

    return StudyHere(study.name, root, checks.expected_jobs(study), keys, records, job_code.digests_of_sources)
