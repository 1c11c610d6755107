"""The compiled tokenizer beside the library and released ones, on one core: `python -m bench.tokenize_speed`.

Each contender reads the same slices of each corpus in turn, in an order that the seed decides; of each slice the
shortest time of processor counts, since other work on a machine only ever adds to it. Contenders that are not installed
are left out (`pip install kitoken tokie sentencepiece protobuf`).
"""

import argparse
import base64
import json
import os
from collections.abc import Callable, Sequence
from itertools import chain
from pathlib import Path
from random import Random
from tempfile import NamedTemporaryFile
from time import thread_time
from typing import Any

from ivy.tokenize.native.choice import choose

from bench.corpora import LANGUAGES, declarations, descriptions
from bench.models import minilm, multilingual_tokenizer
from bench.record import surroundings, table, write
from bench.texts import plain
from bench.workload import SEED

_SLICES = 8
_PACKAGES = ("tokenizers", "kitoken", "tokie", "sentencepiece")
_WANTED_TOKENS = 512

Encode = Callable[[str], Sequence[int]]
"""The ids of a text, special ones or not: they cost nothing."""


def main() -> None:
    """Measure, print the table and write it to `bench/results`."""
    os.environ |= {"TOKENIZERS_PARALLELISM": "false", "RAYON_NUM_THREADS": "1"}
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7, help="Times that each slice is given to each contender.")
    parser.add_argument("--megabytes", type=float, default=3.0, help="Of each corpus.")
    options = parser.parse_args()
    around = surroundings(_PACKAGES)
    corpora = {name: _sample(texts, options.megabytes) for name, texts in _corpora().items()}
    sections, data = [], {}
    models = {"WordPiece (MiniLM)": minilm() / "tokenizer.json", "Unigram (XLM-R)": multilingual_tokenizer()}
    for name, file in models.items():
        contenders = _contenders(file)
        rates = {each: _race(contenders, texts, options.rounds) for each, texts in corpora.items()}
        one = _one_text(contenders, corpora["English"], file, options.rounds)
        rows = [
            [each, *(f"{rates[corpus][each]:.1f}" for corpus in corpora), f"{1e6 * one[each]:.0f}"]
            for each in contenders
        ]
        sections.append((name, table(["MB/s", *corpora, f"µs for {_WANTED_TOKENS + 2} tokens"], rows)))
        data[name] = {"megabytes_per_second": rates, "seconds_of_one_text": one}
    path = write("tokenize-speed", "Tokenizers on one core", around, sections, data)
    print(path.read_text(encoding="utf-8"))


def _corpora() -> dict[str, list[str]]:
    whole = {language: descriptions(language) for language in LANGUAGES}
    others = [text for language, texts in whole.items() if language != "en" for text in texts]
    return {
        "English": whole["en"],
        "11 languages": others,
        "Japanese": whole["ja"],
        "500 languages": declarations(),
        "all of them": [*chain(*whole.values()), *declarations()],
    }


def _sample(texts: Sequence[str], megabytes: float) -> list[str]:
    shuffled = Random(SEED).sample(texts, len(texts))
    found, size = [], 0
    for text in shuffled:
        found.append(text)
        size += len(text.encode())
        if size >= 1e6 * megabytes:
            break
    return found


def _contenders(file: Path) -> dict[str, Encode]:
    library = plain(file)
    encoder = choose(library).encoder
    if encoder is None:
        raise RuntimeError(f"the compiled tokenizer does not serve {file}")
    found: dict[str, Encode] = {
        "tokenizers": lambda text: list(library.encode_batch_fast([text])[0].ids),
        "Trellis": lambda text: list(encoder.ids(text) or ()),
    }
    spec = json.loads(file.read_text(encoding="utf-8")) | {"truncation": None, "padding": None}
    with NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as bare:
        json.dump(spec, bare, ensure_ascii=False)
        bare.flush()
        for name, make in (("kitoken", _kitoken), ("tokie", _tokie), ("sentencepiece", _sentencepiece)):
            try:
                encode = make(bare.name, spec)
            except ImportError:
                continue
            if encode is not None:
                found[name] = encode
    return found


def _kitoken(file: str, spec: dict[str, Any]) -> Encode | None:
    import kitoken

    own = kitoken.Kitoken.from_tokenizers_file(file)
    return lambda text: own.encode(text, True)


def _tokie(file: str, spec: dict[str, Any]) -> Encode | None:
    import tokie

    own = tokie.Tokenizer.from_json(file)
    return lambda text: own.encode(text).ids


def _sentencepiece(file: str, spec: dict[str, Any]) -> Encode | None:
    """The model that the tokenizer.json was made from, made again: its pieces come in the same order."""
    if spec["model"]["type"] != "Unigram":
        return None
    import sentencepiece
    from sentencepiece import sentencepiece_model_pb2 as pb

    model = pb.ModelProto()
    kinds = pb.ModelProto.SentencePiece
    for piece, kind in (("<unk>", kinds.UNKNOWN), ("<s>", kinds.CONTROL), ("</s>", kinds.CONTROL)):
        model.pieces.add(piece=piece, score=0.0, type=kind)
    for piece, score in spec["model"]["vocab"][4:-1]:
        model.pieces.add(piece=piece, score=score, type=kinds.NORMAL)
    model.trainer_spec.model_type = 1
    charsmap = spec["normalizer"]["normalizers"][0]["precompiled_charsmap"]
    model.normalizer_spec.precompiled_charsmap = base64.b64decode(charsmap)
    own = sentencepiece.SentencePieceProcessor(model_proto=model.SerializeToString())
    return lambda text: own.EncodeAsIds(text)


def _race(contenders: dict[str, Encode], texts: Sequence[str], rounds: int) -> dict[str, float]:
    """Megabytes a second of each."""
    random = Random(SEED)
    slices = [texts[at::_SLICES] for at in range(_SLICES)]
    best = {name: [float("inf")] * _SLICES for name in contenders}
    for _ in range(rounds):
        for place, own in enumerate(slices):
            for name in random.sample(list(contenders), len(contenders)):
                best[name][place] = min(best[name][place], _seconds(contenders[name], own))
    size = sum(len(text.encode()) for text in texts)
    return {name: size / sum(seconds) / 1e6 for name, seconds in best.items()}


def _one_text(contenders: dict[str, Encode], texts: Sequence[str], file: Path, rounds: int) -> dict[str, float]:
    """Seconds for one English text of as many tokens as XLM-R reads."""
    library = plain(file)
    encodings = (library.encode(text, add_special_tokens=False) for text in texts)
    long = next(each for each in encodings if len(each.ids) > _WANTED_TOKENS)
    text = library.decode(long.ids[:_WANTED_TOKENS])
    return {name: min(_seconds(each, [text]) for _ in range(20 * rounds)) for name, each in contenders.items()}


def _seconds(encode: Encode, texts: Sequence[str]) -> float:
    began = thread_time()
    for text in texts:
        encode(text)
    return thread_time() - began


if __name__ == "__main__":
    main()
