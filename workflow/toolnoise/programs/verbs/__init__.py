"""The verbs that write a study of existing programs and runs, each with its arguments, help and function (`VERB`)."""
