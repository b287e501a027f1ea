"""Data sets: readers of the outside's formats, and the one prepared form that everything else reads.

Prepared data is an .npz file with `train_images` and `test_images` (uint8, example x height x width x channel),
`train_labels` and `test_labels` (int32 from 0), `maximum` (the pixel value that stands for 1) and `classes` (names).

It may say which examples belong to which sub-groups: `groups` (names), `train_groups` and `test_groups` (bool, example
x group). Its images may be higher and wider by `margin` than what a network sees of them, so that a planned offset
chooses a window. Data that is streamed has a CRC-32 of each image (`train_checks`, `test_checks`) and the digest of all
of it (`sha256`), which a run could not compute at its start: images then stay in the file until a step needs them.
"""
