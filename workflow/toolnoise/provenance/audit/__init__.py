"""The audit: rules over everything in a results folder."""
