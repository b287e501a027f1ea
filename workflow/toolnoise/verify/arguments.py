"""Arguments that several verbs of verification share."""

from toolnoise.commands.verb import flag, option

RESULTS = {
    "RESULTS": {"nargs": "?", "default": "results", "help": "a results folder, or one study's folder in it (results)"}
}
RESULTS_OR_ARCHIVE = {
    "RESULTS": RESULTS["RESULTS"] | {"help": "a results folder, or the folder or archive of one study (results)"}
}
OF_ONE_STUDY = {"RESULTS": {"help": "a study's results folder, such as results/demo"}}
ANONYMOUS = {"--anonymous": flag("leave out host names, users, paths and credentials, for double-blind review")}
NO_CREDENTIAL = {
    "--no-credential": option(
        "TEXT", "share this text although it looks like a credential; repeat for each", action="append", default=[]
    )
}
