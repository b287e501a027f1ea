"""The verbs for programs and models of others, each with its arguments, help, group and function (`VERB`)."""
