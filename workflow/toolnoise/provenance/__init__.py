"""Provenance: statements about the origin of every artifact, and the commands that use them."""
