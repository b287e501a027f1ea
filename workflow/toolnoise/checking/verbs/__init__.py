"""The verb for existing training programs, with its arguments, help, group and function (`VERB`)."""
