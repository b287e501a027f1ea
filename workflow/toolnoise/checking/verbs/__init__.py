"""The verbs for existing programs and models, each with its arguments, help, group and function (`VERB`)."""
