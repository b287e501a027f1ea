"""What separates two runs, cells or studies, bit by bit."""
