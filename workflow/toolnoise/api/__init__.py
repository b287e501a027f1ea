"""The functions for programs and notebooks: `import toolnoise as tn`. The command line calls the same functions.

The functions import modules only when they are called, so that `import toolnoise` is fast. Of all packages beside the
kernel, only this one imports others: `comparison` and `checking`.
"""
