"""Claims and their verdicts: the papers' and a user's, on published numbers and on a study.

A claim is data (resources/claims.yaml, or `claims` in a study file). `arms` finds the quantities that it is about,
`claim_parts` pairs them, `tests` has one function for each kind of test, `judging` turns p-values into verdicts, and
`sentences` says them.
"""
