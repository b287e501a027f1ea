"""The audit: rules that check everything in a results folder."""
