"""The verbs that people call, each with its arguments, help, group and function (`VERB`).

`toolnoise --help` imports all of them, so each imports what takes long when it is called.
"""
