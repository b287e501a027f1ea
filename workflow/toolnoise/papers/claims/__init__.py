"""Claims and their verdicts: the papers' and a user's, on published numbers and on a study.

A claim is data (resources/claims.yaml, or `claims` in a study file). `arms` finds the quantities that it is about and
pairs them, `effects` tests them, and `judging` turns p-values into verdicts and words them.
"""
