"""What programs and notebooks call: `import toolnoise as tn`. The command line calls the same functions.

Its functions import what they need when they are called, so that `import toolnoise` costs nothing. Of all that stands
beside the kernel, this room alone imports others: `comparison` and `checking`.
"""
