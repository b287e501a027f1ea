"""The verbs of verification: a module for each, with its arguments, help, group and function (`VERB`)."""
