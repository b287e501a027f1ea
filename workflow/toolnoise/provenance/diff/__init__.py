"""The differences between two runs, cells or studies, bit by bit."""
