"""The SD over seeds to expect, from the late checkpoints of one run.

`tail` measures how far the last checkpoints at one learning rate lie apart, `prediction` turns that into an SD over
seeds by what bench/floor.py has learnt from finished studies.
"""
