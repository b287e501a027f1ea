"""Python imports this first of all where its folder is on PYTHONPATH: then torchvision can be imported.

The package index has torchvision for PyTorch with CUDA. Beside a build for CPUs its library cannot be loaded. This is
no error, but two of its operators are then unknown, and the import fails. They are declared here.
"""

import torch

if torch.__version__.endswith("+cpu"):
    for name in ("nms", "qnms"):
        torch.library.define(f"torchvision::{name}", "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
