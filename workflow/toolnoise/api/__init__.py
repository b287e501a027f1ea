"""The functions of `import toolnoise as tn`, for programs and notebooks. The command line calls them, too.

They import other modules when they are called, so that `import toolnoise` is fast. Of the rooms outside the kernel,
only this one imports others: `comparison` and `checking`.
"""
