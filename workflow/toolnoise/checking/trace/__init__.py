"""Where two runs of a program part: they are recorded operation by operation, and the records are compared.

`recorder` is copied into the program's own interpreter. The rest reads what it wrote.
"""
