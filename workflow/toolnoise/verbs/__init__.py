"""The kernel's verbs that people call: a module for each, with its arguments, help, group and function (`VERB`).

`toolnoise --help` imports all of them, so each imports what takes long when it is called.
"""
