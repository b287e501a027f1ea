"""The verbs that people call, each a function with its arguments, help and group.

`toolnoise --help` imports all of them, so each imports what takes long when it is called.
"""
