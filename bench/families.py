"""The engine on the CPU beside transformers, for layers of the families: `python -m bench.families`.

Layers have the real sizes and random weights; there are three of them and few words, which changes how long a step
takes and hardly how the contenders compare. Texts are token ids, so that nobody's tokenizer is measured. All contenders
are in this process, and in each round every one is given the same texts, in an order that the seed decides. Times are
those of the processor, of all threads together: a machine that is busy with other work makes them little longer.
"""

import argparse
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from tulip_rose.rose.batch import Batch
from tulip_rose.rose.engine import Engine
from tulip_rose.rose.options import EngineOptions
from tulip_rose.sequence import Sequence as Text

from bench.gpu.models import SHAPES, Ids, Shape, Vectors, made_up, write_model
from bench.record import Spread, surroundings, table, write

SEED = 11
LAYERS, WORDS = 3, 8000
BASELINE = "transformers float32"
_BATCH = 32
"""Texts that transformers gets at a time, sorted by length, as sentence-transformers has it."""
_SAME_MODEL = {"float32": 0.9999, "bfloat16": 0.99}
_PACKAGES = ("torch", "transformers", "numpy")

WORKLOADS: dict[str, tuple[int, ...]] = {
    "1 x 16 tokens": (16,),
    "1 x 128": (128,),
    "8 x 128": (128,) * 8,
    "16 of 4 to 256": tuple(4 + (index * 97) % 253 for index in range(16)),
}
Encode = Callable[[Sequence[Ids]], Vectors]


def _modernbert(values: dict[str, Any]) -> Any:
    from transformers import ModernBertConfig, ModernBertModel

    return ModernBertModel(ModernBertConfig(**values))


def _gemma3(values: dict[str, Any]) -> Any:
    from transformers import Gemma3TextConfig, Gemma3TextModel

    return Gemma3TextModel(Gemma3TextConfig(**values))


_SMALLER = {"num_hidden_layers": LAYERS, "vocab_size": WORDS}
_IDS = dict.fromkeys(("bos_token_id", "cls_token_id", "eos_token_id", "sep_token_id", "pad_token_id"), 1)
_MODERNBERT = {
    "hidden_size": 768,
    "intermediate_size": 1152,
    "num_attention_heads": 12,
    "max_position_embeddings": 8192,
    "local_attention": 128,
    "global_attn_every_n_layers": 3,
    **_IDS,
}
_GEMMA3 = {
    "hidden_size": 768,
    "intermediate_size": 1152,
    "num_attention_heads": 3,
    "num_key_value_heads": 1,
    "head_dim": 256,
    "max_position_embeddings": 2048,
    "sliding_window": 512,
    "sliding_window_pattern": LAYERS,
    "use_bidirectional_attention": True,
    "pad_token_id": 0,
}
FAMILIES = {
    "XLM-R (bge-m3)": SHAPES["bge-m3"],
    "ModernBERT (base)": Shape("ModernBERT", _modernbert, _MODERNBERT, {}, "mean"),
    "Qwen3 (0.6B)": SHAPES["qwen3-0.6b"],
    "Gemma3 (EmbeddingGemma)": Shape("Gemma3", _gemma3, _GEMMA3, {}, "mean"),
}


@dataclass
class Contender:
    """Something that embeds, and the seconds of each workload, one a round."""

    name: str
    encode: Encode
    seconds: dict[str, list[float]] = field(default_factory=dict)

    def run(self, workload: str, texts: Sequence[Ids]) -> None:
        """Embed the texts once and keep the processor's time."""
        start = time.process_time()
        self.encode(texts)
        self.seconds.setdefault(workload, []).append(time.process_time() - start)


def ours(folder: Path, dtype: str, threads: int) -> Encode:
    """All texts of a call in one batch."""
    engine = Engine.load(folder, EngineOptions(dtype=dtype, device="cpu", threads=threads))
    form = engine.card.form()
    return lambda texts: engine.step(Batch.pack([Text.whole(ids, form) for ids in texts])).wait().array()


def theirs(shape: Shape, folder: Path, dtype: str) -> Encode:
    """Padded batches of texts of about equal lengths, pooled as the shape has it."""
    from transformers import AutoModel

    model = AutoModel.from_pretrained(folder, dtype=getattr(torch, dtype), attn_implementation="sdpa").eval()

    def batch(texts: Sequence[Ids]) -> torch.Tensor:
        longest = max(len(ids) for ids in texts)
        rows = torch.stack([torch.nn.functional.pad(torch.from_numpy(i).long(), (0, longest - len(i))) for i in texts])
        mask = torch.arange(longest)[None] < torch.tensor([[len(ids)] for ids in texts])
        states = model(input_ids=rows, attention_mask=mask.long()).last_hidden_state.float()
        pooled = states[:, 0] if shape.pooling == "cls" else (states * mask[..., None]).sum(1) / mask.sum(1)[:, None]
        return torch.nn.functional.normalize(pooled, dim=1)

    def encode(texts: Sequence[Ids]) -> Vectors:
        order = sorted(range(len(texts)), key=lambda index: -len(texts[index]))
        made = np.empty((len(texts), model.config.hidden_size), dtype=np.float32)
        with torch.inference_mode():
            for first in range(0, len(order), _BATCH):
                own = order[first : first + _BATCH]
                made[own] = batch([texts[index] for index in own]).numpy()
        return made

    return encode


def measure(name: str, folder: Path, options: argparse.Namespace) -> list[Contender]:
    """Race all contenders on a family.

    Raises:
        RuntimeError: one of them gives other vectors, so that its speed says nothing.
    """
    shape = FAMILIES[name]
    shape = Shape(shape.name, shape.make, {**shape.config, **_SMALLER}, {}, shape.pooling)
    write_model(shape, folder, "cpu", small=False)
    contenders = [
        *(Contender(f"trellis {dtype}", ours(folder, dtype, options.threads)) for dtype in _SAME_MODEL),
        *(Contender(f"transformers {dtype}", theirs(shape, folder, dtype)) for dtype in _SAME_MODEL),
    ]
    texts = {workload: made_up(lengths, WORDS, SEED) for workload, lengths in _asked(options)}
    _compare(contenders, texts)
    random = Random(SEED)
    for _ in range(options.rounds):
        for workload, own in texts.items():
            for contender in random.sample(contenders, len(contenders)):
                contender.run(workload, own)
    return contenders


def _asked(options: argparse.Namespace) -> list[tuple[str, tuple[int, ...]]]:
    return [(workload, lengths) for workload, lengths in WORKLOADS.items() if sum(lengths) <= options.most_tokens]


def _compare(contenders: Sequence[Contender], texts: dict[str, list[Ids]]) -> None:
    """Warm all up on every workload, and hold their vectors against the baseline's."""
    [baseline] = [each for each in contenders if each.name == BASELINE]
    for own in texts.values():
        expected = baseline.encode(own)
        for each in contenders:
            lowest = float((each.encode(own) * expected).sum(axis=1).min())
            if lowest < _SAME_MODEL[each.name.split()[1]]:
                raise RuntimeError(f"{each.name} gives other vectors: lowest cosine {lowest:.5f}")


def rows_of(contenders: Sequence[Contender]) -> list[list[str]]:
    """Of the table of a family."""
    [baseline] = [each for each in contenders if each.name == BASELINE]
    rows = []
    for workload in baseline.seconds:
        base = Spread.of(baseline.seconds[workload]).middle
        for each in contenders:
            spread = Spread.of([1000 * value for value in each.seconds[workload]])
            rows.append([workload, each.name, spread.shown(), f"{1000 * base / spread.middle:.2f}"])
    return rows


def main() -> None:
    """Run, print the tables and write them to `bench/results`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7, help="Times that each workload is given to each contender.")
    parser.add_argument("--threads", type=int, default=1, help="CPU threads of each contender.")
    parser.add_argument("--most-tokens", type=int, default=4096, help="Leave out workloads of more tokens.")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    around, sections, data = surroundings(_PACKAGES), [], {}
    for name in FAMILIES:
        with TemporaryDirectory() as folder:
            contenders = measure(name, Path(folder), options)
        sections.append(
            (
                name,
                table(["workload", "contender", "ms of the processor", "times float32 baseline"], rows_of(contenders)),
            )
        )
        data[name] = {each.name: each.seconds for each in contenders}
        print(f"{name}: done", file=sys.stderr, flush=True)
    around["load after the run"] = f"{os.getloadavg()[0]:.2f}"
    title = f"Layers of the families on a CPU, threads: {options.threads}; layers: {LAYERS}; rounds: {options.rounds}"
    path = write("families", title, around, sections, data)
    print(path.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
