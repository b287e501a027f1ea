"""A trained model given the same rows in batches of other sizes, without any training.

`batches` starts `forward` as a program of the interpreter that has the framework. That one may be another
environment's, in which toolnoise is not installed: `forward` and its neighbours need NumPy and the framework alone.
"""
