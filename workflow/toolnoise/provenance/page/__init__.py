"""The audit as a page that opens from disk."""
