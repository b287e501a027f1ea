"""Warm starts: the jobs of a local workflow are forked from processes that have imported what they need.

Importing TensorFlow takes longer than a small training. So a workflow on this machine has a dispatcher, and the
dispatcher has a server for each set of settings. A server imports a framework under a tooling's settings, or the
packages of metrics and figures, and then forks a child for each job. Jobs share an import and never a process. The
console script asks for a server. If there is none, or if the job is refused, it performs the verb itself: cold.

An executor plugin of Snakemake would need more. Snakemake takes every executor but its own for a remote one, and starts
a second Snakemake for each job, unless the plugin repeats Snakemake's local executor. The console script leaves rules
and verbs as they are, and costs the start of an empty Python.

A job is warm only if that does not matter to it:

* The server imported in the job's folder and with its environment, a tooling's settings on top.
* The server has one thread. A fork copies no other thread, and what another one held would stay locked.
* The framework is TensorFlow on a CPU. JAX starts threads, PyTorch was not tried, and a GPU does not survive a fork.
* No source of this package, and no installed package, has changed since the server began to import. A statement has the
  digests of the sources as its server read them.

Two things differ from process to process and are the same in the children of a server: the addresses of what was
imported, and the seed of Python's hashes. Replicates must not hide what these do. So the runs whose noise is the
machine's own start cold. So does the first run of each Control cell, and the control gate compares the warm runs of the
cell with it, bit by bit.

A study's own modules are imported in the child. The statement of each job says how it started.
"""

# The address of the dispatcher, for the jobs of a workflow. Whoever sets it to 0 switches warm starts off.
VARIABLE = "TOOLNOISE_WARM"
# Before the reason why a job started cold though its start should have been warm; other reasons are by design.
FAILED = "the warm start failed: "
