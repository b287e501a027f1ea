"""The verbs of progress and cost, each with its arguments, help, group and function (`VERB`)."""
