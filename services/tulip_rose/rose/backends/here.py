"""`Here`: what this machine has for attention on CUDA. Looks, and imports nothing that it finds."""

import os
import shutil
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import torch

from tulip_rose.rose.backends.releases import FLASH_ATTENTION_4, FLASHINFER

_TOOLKIT = "/usr/local/cuda"


@dataclass(frozen=True, slots=True)
class Here:
    """A GPU and what is installed beside it."""

    capability: tuple[int, int]
    """Compute capability: 8.0 is A100, 9.0 is H100 and H200, 10.0 is B200."""
    flash_attention_4: str | None
    """Version, or None where it is not installed; so is the next."""
    flashinfer: str | None
    compiles: bool
    """Whether FlashInfer's kernels can be had: by nvcc, at their first use, or built before."""

    @property
    def gpu(self) -> str:
        """For a sentence."""
        return f"this GPU has compute capability {self.capability[0]}.{self.capability[1]}"


def look(device: torch.device) -> Here:
    """What there is for that CUDA device."""
    return Here(
        capability=torch.cuda.get_device_capability(device),
        flash_attention_4=FLASH_ATTENTION_4.installed(),
        flashinfer=FLASHINFER.installed(),
        compiles=find_spec("flashinfer_jit_cache") is not None or has_compiler(),
    )


def has_compiler() -> bool:
    """Whether nvcc is there: in the path, or in the toolkit that `CUDA_HOME` names."""
    toolkit = Path(os.environ.get("CUDA_HOME") or _TOOLKIT)
    return shutil.which("nvcc") is not None or (toolkit / "bin" / "nvcc").is_file()
