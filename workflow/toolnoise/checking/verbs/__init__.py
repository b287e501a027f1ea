"""The verb for existing training programs, with its arguments and help."""
