"""The kinds of what a program keeps, and how it is asked for them: known to both processes, so this imports nothing."""

# The variable that names a JSON file with what is to be observed.
TASK = "TOOLNOISE_STATE"
MOST_VALUES = 100_000
GENERATOR, OPTIMISER, SCHEDULER, SCALER, AVERAGES = "generator", "optimiser", "scheduler", "scaler", "average"
SAMPLER, POSITION, WEIGHTS, ARRAY = "sampler", "position", "weights", "array"
NUMBER, ITEMS, OTHER = "number", "items", "other"
