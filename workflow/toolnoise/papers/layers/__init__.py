"""Layers: in which layer of a network the runs of a cell differ most."""
