"""Figures and tables: notebooks are executed on metric files, and draw with these modules."""
