"""The audit as an HTML page that opens from disk."""
