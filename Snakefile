# A Snakefile that only includes has no default target, so that is set here; all else is in workflow/.
include: "workflow/Snakefile"


workflow.default_target = "page"
