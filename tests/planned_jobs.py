"""Print the rules of the workflow, and the jobs of a study that Snakemake plans for some targets, as JSON.

python planned_jobs.py SNAKEFILE CONFIGFILE TARGET ...
"""

import json
import shlex
import sys
from pathlib import Path

from snakemake.api import SnakemakeApi
from snakemake.settings.types import ConfigSettings, DAGSettings, OutputSettings, Quietness, ResourceSettings


def words_of(command: str | None) -> list[str]:
    """What the verb that a rule calls is given, itself first; nothing for a rule that calls none."""
    words = shlex.split(command or "")
    if "toolnoise" not in words:
        return []
    end = next(place for place, word in enumerate(words) if word.startswith(">"))
    return words[words.index("toolnoise") + 1 : end]


def main() -> None:
    """Plan, and print."""
    snakefile, configuration, *targets = sys.argv[1:]
    with SnakemakeApi(OutputSettings(dryrun=True, quiet={Quietness.ALL})) as api:
        planned = api.workflow(
            ResourceSettings(cores=2),
            config_settings=ConfigSettings(configfiles=[Path(configuration)]),
            snakefile=Path(snakefile),
        )
        planned.dag(DAGSettings(targets=set(targets), forceall=True)).execute_workflow("dryrun")
        workflow = planned._workflow_store
    rules = {
        rule.name: {
            "docstring": rule.docstring,
            "command": rule.shellcmd,
            "log": list(map(str, rule.log)),
            "conda": rule.conda_env is not None,
            "priority": rule.priority,
        }
        for rule in workflow.rules
    }
    jobs = [
        {
            "rule": job.rule.name,
            "group": job.group,
            "in conda": job.conda_env_spec is not None,
            "words": words_of(job.shellcmd),
            "inputs": list(job.input),
            "outputs": list(job.output),
            "code": job.params.get("code"),
        }
        for job in workflow.dag.jobs
    ]
    json.dump({"rules": rules, "jobs": jobs}, sys.stdout)


main()
