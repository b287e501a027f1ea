"""Data sets: readers of external formats, and the one prepared form that everything else reads.

Prepared data is an .npz file with `train_images` and `test_images` (uint8, example x height x width x channel),
`train_labels` and `test_labels` (int32 from 0), `maximum` (the pixel value that stands for 1) and `classes` (names).

It may mark the examples of sub-groups: `groups` (names), `train_groups` and `test_groups` (bool, example x group). Its
images may be higher and wider by `margin` than a network's input, so that a planned offset chooses a window. Streamed
data has a CRC-32 of each image (`train_checks`, `test_checks`) and the digest of the whole data (`sha256`), because a
run does not read all images at its start. The images then stay in the file until a step needs them.
"""
