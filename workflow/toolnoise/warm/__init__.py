"""Warm starts: the jobs of a local workflow are forked from processes that have imported what they need.

Importing TensorFlow takes longer than a small training. So a workflow on this machine has a dispatcher, and the
dispatcher has a server for each set of settings: a server imports a framework under a tooling's settings, or the packages
of metrics and figures, and then forks a child for each job. Jobs share an import and never a process. The console script
asks for a server, and performs the verb itself, cold, if there is none or if it is refused.

Why the console script and not an executor plugin of Snakemake: Snakemake takes any executor but its own for a remote
one, and starts a second Snakemake for each job, or the plugin has to repeat its local executor. A console script needs
nothing from Snakemake, keeps rules and verbs as they are, and costs the start of an empty Python, 0.05 s.

A job is warm only if that cannot matter to it:

* The server imported with the environment that the job has, variable by variable, and a tooling's settings on top.
* The server has one thread. A fork copies no other, and what another thread held would stay locked.
* The framework is TensorFlow on a CPU. JAX starts threads, PyTorch was not tried, and a GPU does not survive a fork.
* No source of this package, and no installed package, has changed since the server began to import. A statement names
  the sources as they are at the end of a job.

Forked jobs share the addresses of what was imported and the seed of Python's hashes, which differ from process to process
otherwise. What these do to a result is noise that replicates must not hide. So a run of `impl` is cold if its noise is
not emulated, and so is the first run of each Control cell: the control gate holds the warm ones to its bits.

A study's own modules are imported in the child. The statement of each job says how it started.
"""

# The address of the dispatcher, set for a workflow's jobs; 0, set by a person, switches warm starts off.
VARIABLE, OFF = "TOOLNOISE_WARM", "0"
