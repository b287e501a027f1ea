"""One training computed in other ways that should not matter: a batch in parts, several processes, other threads."""
