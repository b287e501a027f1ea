"""A comparison that is looked at while its runs come in: planned before, decided early, its interval valid at any look.

A plan says how many runs there will be at most and spends its error level over the looks. `planning` writes it,
`peeking` judges the runs so far, `looks` keeps every look beside the plan, and `bounds` has the p-values that decide.
"""
