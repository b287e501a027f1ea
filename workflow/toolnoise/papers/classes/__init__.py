"""Classes: in which classes and sub-groups the runs of a cell differ most."""
