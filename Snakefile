# The workflow is in workflow/. A Snakefile that only includes has no default target, so that is stated here.
include: "workflow/Snakefile"


rule default:
    """The page of the study and all that it shows."""
    default_target: True
    input:
        rules.page.input,
