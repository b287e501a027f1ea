"""Warm starts: the jobs of a workflow on this machine are forked from processes that have imported what they need.

Importing TensorFlow takes longer than a small training. So a workflow starts a template for each tooling, and one for
jobs without a tooling: a process that imports what its first job needs and then forks a child for each job. Jobs share
an import and never a process. The console script (`client`) asks the template of its tooling. Without a template, or if
it refuses the job, the script performs the verb itself: a cold start. The statement of each job says how it started.

A job is warm only if this cannot affect its outputs. TensorFlow on a CPU survives a fork from a process with one thread
(JAX starts threads, PyTorch was not tried). No source may have changed since the template began. Noise must not be the
machine's own, since all children of a template have the same addresses of imported code and the same seed of hashes.
The first run of each Control cell is cold, and the gate compares the warm runs with it, bit by bit.
"""
