"""Papers: a folder for each question that a paper asked; nothing in the kernel needs it."""
