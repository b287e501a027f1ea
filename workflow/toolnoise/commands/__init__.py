"""Commands for people: the progress of a study, its cost, its results, and the number of runs to plan for."""
