"""One module for each format that data sets come in."""
