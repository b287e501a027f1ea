"""What the claims of a study are judged with, as its rule gives it."""

from toolnoise.steps import parameters
from toolnoise.study import config, job_code
from toolnoise.study.cells import Whole


def claimed(study):
    """The papers' claims and the study's own."""
    own = parameters.claims(study, Whole())["claims"]
    return job_code.claims_with_those_of_papers(own, config.registered("claims"))


def toolings(study):
    """The study's toolings."""
    return parameters.claims(study, Whole())["toolings"]
