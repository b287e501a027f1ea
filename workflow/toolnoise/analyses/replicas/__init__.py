"""Replicas: several runs that share one process, for studies of many seeds."""
