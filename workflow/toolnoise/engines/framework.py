"""A framework in this process: imported with only a tooling's settings in the environment, and put on its device."""

import abc
import ctypes
import gc
import importlib
import sys
from typing import Any, ClassVar

import numpy as np

from toolnoise.base import environment
from toolnoise.base.errors import BadInput
from toolnoise.engines import FRAMEWORKS, accelerators
from toolnoise.engines.formulas import EPSILON

# Packages that Keras and the frameworks import if present and training never uses: half of the import time.
UNUSED = ("h5py", "IPython", "matplotlib", "pandas", "PIL", "sklearn")
# Parameters of glibc's mallopt(3): no separate mappings, nothing returned below this size, one heap for all threads.
GLIBC = {"M_MMAP_MAX": (-4, 0), "M_TRIM_THRESHOLD": (-1, 2**31 - 1), "M_TOP_PAD": (-2, 2**26), "M_ARENA_MAX": (-8, 1)}


class Framework(abc.ABC):
    """The part of an engine that needs no network; each framework has a subclass that sets it up."""

    # Keras's backend, which is also the name of the module and of the engine.
    framework: str
    # Like UNUSED: packages that only this framework would import and training never uses.
    unused: tuple[str, ...] = ()
    # Whether a process that has imported the framework for a CPU, and nothing more, can be forked.
    forks = False
    # The settings under which this process has imported the framework, if it has.
    _imported_under: ClassVar[dict[str, str] | None] = None

    def start(self, tooling: dict[str, Any], deterministic: bool) -> dict[str, Any]:
        """Import and configure the framework with only the tooling's settings in the environment.

        Return what was observed of machine and framework.
        """
        self.tooling = tooling
        if tooling["accelerator"] == "cpu":
            environment.require_cpu(tooling)
        imposed = environment.impose_variables(self.variables(tooling, deterministic))
        if self.framework in sys.modules and self._imported_under != imposed:
            raise RuntimeError(f"{self.framework} was imported before the tooling's settings were made")
        self.library, self.keras = self._import()
        # Keras would read these from a file in the user's home.
        self.keras.config.set_floatx("float32")
        self.keras.config.set_epsilon(EPSILON)
        self.keras.config.set_image_data_format("channels_last")
        # Weights are float32 in every precision; layers compute in the tooling's precision.
        self.keras.config.set_dtype_policy(tooling["precision"])
        self._set_up(deterministic)
        claim = getattr(self, f"_claim_{tooling['accelerator']}")
        return {
            **claim(),
            "precision": self.keras.config.dtype_policy().name,
            "tf32": self._allows_tf32(),
            "deterministic": deterministic,
            "variables": imposed,
            "versions": {
                self.framework: self.library.__version__,
                "keras": self.keras.__version__,
                "numpy": np.__version__,
            },
            **self._about(),
            **environment.describe_machine(),
        }

    def import_ahead(self, tooling: dict[str, Any], deterministic: bool) -> None:
        """Import the framework as `start` would, in a process that forks a child for each run."""
        type(self)._imported_under = environment.impose_variables(self.variables(tooling, deterministic))
        self._import()

    @abc.abstractmethod
    def variables(self, tooling: dict[str, Any], deterministic: bool) -> dict[str, str]:
        """The environment variables that a tooling sets for the framework, which need not be installed."""

    def _import(self) -> tuple[Any, Any]:
        """Import the framework and Keras without packages that training never uses, such as other frameworks."""
        others = [name for name in FRAMEWORKS if name != self.framework]
        optional = [name for name in (*UNUSED, *self.unused, *others) if name not in sys.modules]
        sys.modules.update(dict.fromkeys(optional))
        gc.disable()
        try:
            keras, library = importlib.import_module("keras"), importlib.import_module(self.framework)
        finally:
            gc.enable()
            for name in optional:
                del sys.modules[name]
        gc.freeze()
        return library, keras

    @abc.abstractmethod
    def _set_up(self, deterministic: bool) -> None:
        """Configure the framework after its import."""

    @abc.abstractmethod
    def _allows_tf32(self) -> bool:
        """Whether the framework reports that float32 products may use TensorFloat-32."""

    def _about(self) -> dict[str, Any]:
        """Further observations of the framework."""
        return {}

    def _refusal(self, key: str, problem: str, allowed: str = "") -> BadInput:
        return BadInput(f"hardware {self.tooling['name']}", key, problem, allowed)

    def _claim_cpu(self) -> dict[str, Any]:
        return {"device": "cpu"}

    def _claim_gpu(self) -> dict[str, Any]:
        """Use the first visible GPU that matches the tooling, and no other."""
        seen, present = self._gpus(), accelerators.gpus()
        if present and not seen:
            problem = f"{self.framework} cannot use the {present[0].name} of this machine"
            raise self._refusal("device", problem, accelerators.INSTALL[self.framework])
        names = [name for name, _ in seen]
        place = accelerators.choose(self.tooling, names)
        self._use_gpu(place)
        match = next((gpu for gpu in present if gpu.name == names[place]), None)
        return {
            "device": names[place],
            "compute_capability": seen[place][1],
            "driver": match.driver if match else "",
            "device_memory_mib": match.memory_mib if match else "",
            "libraries": environment.installed_versions("nvidia-.*"),
        }

    @abc.abstractmethod
    def _gpus(self) -> list[tuple[str, str]]:
        """Name and compute capability of each GPU that the framework sees."""

    @abc.abstractmethod
    def _use_gpu(self, place: int) -> None:
        """Compute on this GPU from now on."""


def keep_freed_memory() -> bool:
    """Keep freed memory for the next step; return whether the C library supports it.

    A training step on a CPU needs the same large arrays each time. By default the C library maps and unmaps each of
    them anew, and the system clears every page at its first touch, which takes longer than many kernels. No bit depends
    on this setting.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    return mallopt is not None and {mallopt(*setting) for setting in GLIBC.values()} == {1}
