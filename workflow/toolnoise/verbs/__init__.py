"""The verbs that people call, each a function with its arguments, help and group.

`toolnoise --help` imports all of them, so each imports slow modules only when it is called.
"""
