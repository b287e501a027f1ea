"""Published: figures and tables of the papers, made from a study, and their numbers beside its own."""
