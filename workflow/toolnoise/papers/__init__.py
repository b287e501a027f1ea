"""Papers: a module or a folder for each question that a paper asked."""
