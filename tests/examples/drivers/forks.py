"""Run a program once per set of variables, in forks of a process that has imported the large packages.

forks.py PROGRAM MODULES RUNS: modules to import first, and for each folder to run in its variables; both JSON.
"""

import importlib
import json
import os
import runpy
import sys

program, modules, runs = sys.argv[1], *map(json.loads, sys.argv[2:])
for module in modules:
    importlib.import_module(module)
for folder, variables in runs.items():
    child = os.fork()
    if not child:
        os.environ |= variables
        os.chdir(folder)
        sys.argv = [program]
        runpy.run_path(program, run_name="__main__")
        sys.stdout.flush()
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        sys.exit(f"failed in {folder}")
