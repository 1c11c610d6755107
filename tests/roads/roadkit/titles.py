"""Titles of Debian's packages and the descriptions below them: a search whose right answers are known."""

from zlib import crc32

from bench.corpora import descriptions

_LETTERS = 160
_SHORTEST = 80


def titles_and_bodies(count: int) -> tuple[list[str], list[str]]:
    """So many pairs, no title and no body twice, chosen by the title: nearly the same whenever the archive is read.

    Raises:
        NoCorpusError: there is no apt, or it reaches no archive.
    """
    pairs: dict[str, str] = {}
    for text in descriptions("en"):
        title, _, rest = text.partition("\n")
        body = " ".join(rest.split())
        if len(body) >= _SHORTEST and "transitional" not in body:
            pairs.setdefault(title, body[:_LETTERS])
    by_body = {body: title for title, body in pairs.items()}
    chosen = sorted((title, body) for body, title in by_body.items())
    chosen = sorted(chosen, key=lambda pair: crc32(pair[0].encode()))[:count]
    return [title for title, _ in chosen], [body for _, body in chosen]
