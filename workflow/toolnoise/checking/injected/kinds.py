"""The kinds of what a program keeps: known to the program's process and to ours, so this imports nothing."""

MOST_VALUES = 100_000
GENERATOR, OPTIMISER, SCHEDULER, SCALER, AVERAGES = "generator", "optimiser", "scheduler", "scaler", "average"
SAMPLER, POSITION, WEIGHTS, ARRAY = "sampler", "position", "weights", "array"
NUMBER, ITEMS, OTHER = "number", "items", "other"
