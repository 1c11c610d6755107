"""What a result has to name of a GPU to be judged. Empty where there is none."""

import subprocess

import torch

PACKAGES = (
    "torch",
    "triton",
    "flash-attn-4",
    "flashinfer-python",
    "flashinfer-jit-cache",
    "transformers",
    "sentence-transformers",
    "numpy",
)
_ASKED = ("driver_version", "clocks.max.sm", "clocks.max.memory", "power.limit", "mig.mode.current")


def hardware() -> dict[str, str]:
    """Of the GPU that torch uses, its driver and its libraries."""
    if not torch.cuda.is_available():
        return {"gpu": "none"}
    about = torch.cuda.get_device_properties(torch.cuda.current_device())
    return {
        "gpu": f"{about.name}, compute capability {about.major}.{about.minor}, {about.total_memory / 2**30:.0f} GiB",
        "gpu's driver": _driver(f"GPU-{about.uuid}"),
        "cuda": f"{torch.version.cuda}, cuDNN {torch.backends.cudnn.version()}",
    }


def _driver(gpu: str) -> str:
    # By its own name: numbers of torch are those of what CUDA_VISIBLE_DEVICES leaves.
    command = ["nvidia-smi", f"--query-gpu={','.join(_ASKED)}", "--format=csv,noheader", "-i", gpu]
    try:
        lines = subprocess.run(command, capture_output=True, text=True, check=True, timeout=30).stdout.splitlines()
    except (OSError, subprocess.SubprocessError) as error:
        return f"nvidia-smi says nothing: {error}"
    return ", ".join(f"{name} {value.strip()}" for name, value in zip(_ASKED, lines[0].split(","), strict=False))
