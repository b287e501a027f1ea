"""The verbs of comparison, with their arguments and help."""
