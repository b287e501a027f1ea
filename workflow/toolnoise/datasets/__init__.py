"""Data sets: readers of the outside's formats, and the one prepared form that everything else reads.

Prepared data is an .npz file with `train_images` and `test_images` (uint8, example x height x width x channel),
`train_labels` and `test_labels` (int32 from 0), `maximum` (the pixel value that stands for 1) and `classes` (names).
"""
