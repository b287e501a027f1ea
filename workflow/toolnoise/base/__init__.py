"""The base layer: errors, files, arrays, metric files, digests of code. Nothing here knows a study."""
