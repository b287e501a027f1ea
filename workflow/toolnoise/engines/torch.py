"""PyTorch: each step is called from Python, kernel by kernel, on data on the device.

Convolutions and pooling take Keras's channels-last tensors directly, without copies. A step gathers its batch, crops
and mirrors it as planned, and updates the weights with kernels that take all of them at once. All randomness comes with
the plan.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from toolnoise.engines import decay, formulas, rate_factor, torch_layers
from toolnoise.engines.formulas import BETA_1, BETA_2, EPSILON, RISE_1, RISE_2, smoothed_targets
from toolnoise.engines.framework import keep_freed_memory
from toolnoise.engines.keras_engine import LOSS_SCALE, SLOTS, Chunk, KerasEngine, Sums

ISA = {"avx2": "AVX2", "avx512": "AVX512"}
ONEDNN_ISA = {"avx2": "AVX2", "avx512": "AVX512_CORE"}
# PyTorch's names for the precisions of float32 arithmetic on a GPU.
FULL, TF32 = "ieee", "tf32"


class Engine(KerasEngine):
    """Trains one Keras model in this process."""

    framework = "torch"
    unused = ("scipy",)

    def variables(self, tooling: dict[str, Any], deterministic: bool) -> dict[str, str]:
        """The environment variables by which a tooling sets PyTorch, Keras, oneDNN and MKL."""
        threads, on_cpu = str(tooling["threads"]), tooling["accelerator"] == "cpu"
        settings = {
            "KERAS_BACKEND": "torch",
            "KERAS_TORCH_DEVICE": "cpu" if on_cpu else "cuda",
            "MKL_NUM_THREADS": threads,
            "OMP_NUM_THREADS": threads,
        }
        if on_cpu:
            # Otherwise MKL would choose by the processor and by the memory address of an array.
            # It obeys the name of an instruction set only on Intel's processors.
            branch = "COMPATIBLE" if tooling.get("portable") else ISA[tooling["isa"]]
            isa = {"MKL_CBWR": branch, "ONEDNN_MAX_CPU_ISA": ONEDNN_ISA[tooling["isa"]]}
            return settings | isa | {"ATEN_CPU_CAPABILITY": tooling["isa"]}
        # Without it cuBLAS may add in the order in which its streams finish.
        return settings | ({"CUBLAS_WORKSPACE_CONFIG": ":4096:8"} if deterministic else {})

    def _set_up(self, deterministic: bool) -> None:
        self.torch = torch = self.library
        # Otherwise Keras would copy the inputs of convolutions and pooling to channels-first memory and back.
        self.keras.src.backend.torch.nn._transpose_spatial_inputs = _channels_first
        # Keras subtracts the squared mean from the mean square there, which loses digits where the mean is large.
        self.keras.src.backend.torch.nn.moments = partial(_moments, torch)
        torch_layers.install_scan(torch, self.keras)
        torch.set_num_threads(self.tooling["threads"])
        torch.set_num_interop_threads(1)
        torch.backends.mkldnn.set_flags(self.tooling["kernels"] == "onednn")
        if self.tooling["accelerator"] == "cpu":
            keep_freed_memory()
        else:
            # Versions before 2.9 have no such settings.
            float32 = TF32 if self.tooling["tf32"] else FULL
            torch.backends.cuda.matmul.fp32_precision = torch.backends.cudnn.conv.fp32_precision = float32
        torch.use_deterministic_algorithms(deterministic)
        torch.backends.cudnn.deterministic = deterministic
        # cuDNN times its algorithms and chooses anew in every process: this is the noise of `impl`.
        torch.backends.cudnn.benchmark = not deterministic

    def _allows_tf32(self) -> bool:
        if self.tooling["accelerator"] == "cpu":
            return False
        backends = self.torch.backends
        return TF32 in (backends.cuda.matmul.fp32_precision, backends.cudnn.conv.fp32_precision)

    def _about(self) -> dict[str, Any]:
        return {
            "build": {"cuda": self.torch.version.cuda or "", "cudnn": str(self.torch.backends.cudnn.version() or "")}
        }

    def _gpus(self) -> list[tuple[str, str]]:
        about = map(self.torch.cuda.get_device_properties, range(self.torch.cuda.device_count()))
        return [(gpu.name, f"{gpu.major}.{gpu.minor}") for gpu in about]

    def _use_gpu(self, place: int) -> None:
        self.torch.cuda.set_device(place)

    def _network(self) -> Callable[[Any, bool], Any]:
        return torch_layers.forward(self.keras, self.model)

    def compiled_for_images(self, function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """The function, called without gradients."""

        def called(images: np.ndarray) -> Any:
            with self.torch.no_grad():
                return function(self._moved(images))

        return called

    def _moved(self, values: np.ndarray) -> Any:
        # No copy on a CPU, except of read-only arrays, from which PyTorch makes no tensor.
        values = values if values.flags.writeable else values.copy()
        return self.torch.as_tensor(values).to(self.keras.src.backend.torch.core.get_device())

    def _on_device(self, images: np.ndarray, labels: np.ndarray) -> tuple[Any, Any]:
        return self._moved(images), self._moved(labels.astype(np.int64))

    def _zeros(self, like: Any) -> Any:
        if isinstance(like, self.torch.Tensor):
            return self.torch.zeros_like(like, requires_grad=False)
        return self._moved(np.zeros_like(like))

    def _compile(self) -> None:
        self._forward(self.blank_inputs(self.shape))

    def _train(self, part: Chunk, sums: Sums) -> Sums:
        plan = part.plan
        # 64 bits instead of 32: PyTorch does not compute with unsigned integers.
        order, slots, dropout = (
            self._moved(values.astype(np.int64)) for values in (plan.order, plan.slots, plan.dropout)
        )
        offsets, flips = self._moved(plan.offsets), self._moved(plan.flips)
        totals = self._moved(np.array(sums.loss)), self._moved(np.array(sums.correct, np.int64))
        made, before = 0, int(part.steps[0]) - 1 - self._left_out_so_far()
        for number, step in enumerate(part.steps):
            for layer_number, layer in enumerate(self.dropouts):
                layer.plan(dropout, step, layer_number, slots[number])
            try:
                batch = self._augmented(part.images, order[number], offsets[number], flips[number])
                gradients, *of_step = self._differentiated(batch, part.labels[order[number]])
                taken = self._step(gradients, part.rates[number, 0], part.rates[made, 1:], before + made + 1)
            except RuntimeError as error:
                op, nondeterministic, _ = str(error).partition(" does not have a deterministic implementation")
                if not nondeterministic:
                    raise
                raise self._refusal(op, "no deterministic kernel") from None
            # Adam's powers count the updates made.
            made += taken
            totals = [total + summand for total, summand in zip(totals, of_step, strict=True)]
        return Sums(*map(self.values_of, totals))

    def _differentiated(self, images: Any, labels: Any) -> tuple[tuple[Any, ...], Any, Any]:
        """The gradients of a batch, its loss and its number of correct predictions."""
        torch, trained = self.torch, [self.tensors[path] for path in self.trainable]
        logits = self._logits(images, training=True)
        loss = self._loss(labels, logits)
        objective = loss * self._loss_scale() if self.loss_scaled else loss
        gradients = torch.autograd.grad(objective, trained)
        return gradients, loss.detach(), (self._answers(logits.detach(), torch.argmax) == labels).sum()

    def _step(self, gradients: tuple[Any, ...], rate: np.float32, powers: np.ndarray, update: int) -> bool:
        """Move the weights by the gradients of a batch; return whether that was possible."""
        with self.torch.no_grad():
            taken = not self.loss_scaled or self._scaled_back(gradients)
            if taken:
                self._update([self.tensors[path] for path in self.trainable], gradients, rate, powers, update)
            return taken

    def _loss(self, labels: Any, logits: Any) -> Any:
        if not self.outcome.scores_each_class:
            return self._losses_of_odds(labels, logits).mean()
        classes = logits.shape[-1]
        targets = self._targets(labels.reshape(-1), classes)
        return self.torch.nn.functional.cross_entropy(logits.reshape(-1, classes), targets)

    def _targets(self, labels: Any, classes: int) -> Any:
        """The class of each example, or with label smoothing its targets."""
        if not (smoothing := self.recipe["label_smoothing"]):
            return labels
        here, elsewhere = smoothed_targets(smoothing, classes)
        of_class = self.torch.nn.functional.one_hot(labels, classes).bool()
        return self.torch.where(of_class, here, elsewhere).float()

    def _update(
        self, trained: list[Any], gradients: tuple[Any, ...], rate: np.float32, powers: np.ndarray, update: int
    ) -> None:
        """Move the trained tensors and their slots; `update` is the number of this update since training began."""
        torch = self.torch
        rates = [rate * np.float32(rate_factor(path, self.recipe)) for path in self.trainable]
        for path, tensor, gradient in zip(self.trainable, trained, gradients, strict=True):
            if times := decay(path, self.recipe):
                gradient.add_(tensor, alpha=times)
        slots = [list(self.slots[slot].values()) for slot in SLOTS[self.recipe["optimizer"]]]
        if self.tooling["formulas"] == "shipped":
            self._update_as_shipped(trained, gradients, slots, rates, update)
        elif self.recipe["optimizer"] == "adam":
            m, v = slots
            sizes = [rate * np.sqrt(1 - powers[1]) / (1 - powers[0]) for rate in rates]
            torch._foreach_lerp_(m, gradients, RISE_1)
            torch._foreach_lerp_(v, torch._foreach_mul(gradients, gradients), RISE_2)
            # IEEE 754 fixes the square root, but MKL's differs by processor maker, in all of its branches.
            exact = self.tooling.get("portable") and [torch.from_numpy(np.sqrt(values.numpy())) for values in v]
            spread = exact or torch._foreach_sqrt(v)
            torch._foreach_add_(spread, EPSILON)
            torch._foreach_addcdiv_(trained, m, spread, [float(-size) for size in sizes])
        else:
            (momentum,) = slots
            torch._foreach_mul_(momentum, self.recipe["momentum"])
            moves = torch._foreach_mul(gradients, [float(-rate) for rate in rates])
            torch._foreach_add_(momentum, moves)
            torch._foreach_add_(trained, momentum)

    def _update_as_shipped(
        self, trained: list[Any], gradients: tuple[Any, ...], slots: list[list[Any]], rates: list[Any], update: int
    ) -> None:
        from torch.optim.adam import adam
        from torch.optim.sgd import sgd

        plain = {"foreach": False, "weight_decay": 0, "maximize": False}
        for place, (tensor, gradient, rate) in enumerate(zip(trained, gradients, rates, strict=True)):
            tensors = [tensor], [gradient], *([slot[place]] for slot in slots)
            if self.recipe["optimizer"] == "adam":
                betas = {"beta1": BETA_1, "beta2": BETA_2, "eps": EPSILON}
                counted = [self.torch.tensor(float(update - 1))]
                adam(*tensors, [], counted, amsgrad=False, lr=float(rate), **betas, **plain)
            else:
                sgd(*tensors, momentum=self.recipe["momentum"], lr=float(rate), dampening=0, nesterov=False, **plain)

    def _loss_scale(self, sign: int = 1) -> Any:
        return formulas.scale_bits(self.slots[LOSS_SCALE][formulas.DOUBLINGS], sign).view(self.torch.float32)

    def _scaled_back(self, gradients: tuple[Any, ...]) -> bool:
        """Undo the loss scale in gradients and count the step; return whether all gradients were finite."""
        torch, counts = self.torch, self.slots[LOSS_SCALE]
        finite = all(torch.stack([torch.isfinite(gradient).all() for gradient in gradients]).tolist())
        torch._foreach_mul_(gradients, self._loss_scale(-1))
        counts |= formulas.scale_counts_after(counts, int(finite), torch.clamp)
        return finite

    def _set(self, tensor: Any, values: np.ndarray) -> Any:
        with self.torch.no_grad():
            return tensor.copy_(self._moved(np.asarray(values)))

    def values_of(self, tensor: Any) -> np.ndarray:
        """A copy of a tensor's values, from whichever device it is on."""
        return tensor.detach().cpu().numpy().copy()


def _moments(torch: Any, values: Any, axes: Any, keepdims: bool = False, synchronized: bool = False) -> Any:
    """The mean and the variance over axes, in float32 and in two passes; over one device, so nothing to synchronise."""
    assert not synchronized
    variance, mean = torch.var_mean(values.float(), dim=axes, correction=0, keepdim=keepdims)
    return mean.to(values.dtype), variance.to(values.dtype)


def _channels_first(inputs: Any) -> Any:
    """The same memory, with axes in PyTorch's order."""
    return inputs.permute(0, inputs.ndim - 1, *range(1, inputs.ndim - 1))
