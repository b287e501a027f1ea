"""Figures and tables: notebooks executed on metric files, and what they draw with."""
