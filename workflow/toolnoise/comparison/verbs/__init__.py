"""The verbs of comparison: a module for each, with its arguments, help, group and function (`VERB`)."""
