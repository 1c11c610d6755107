"""The XML that S3 answers with. Pure.

The body comes from a server that a manifest names, so a document that declares anything of its own is not read.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from xml.etree import ElementTree

from trellis_operator.sources.failure import FetchError, Reason


@dataclass(frozen=True)
class Object:
    """One object of a bucket; `etag` with its quotes."""

    key: str
    size: int
    etag: str


@dataclass(frozen=True)
class Page:
    """One page of a listing; `next_token` asks for the next one."""

    objects: tuple[Object, ...]
    next_token: str | None


def read_page(body: bytes) -> Page:
    """Read a ListBucketResult.

    Raises:
        FetchError: it is none.
    """
    try:
        root = _root(body)
        if _name(root) != "ListBucketResult":
            raise ValueError(_name(root))
        objects = tuple(_object(entry) for entry in _children(root, "Contents"))
        return Page(objects, _text(root, "NextContinuationToken") or None)
    except (ValueError, ElementTree.ParseError) as error:
        raise FetchError(Reason.REFUSED, "the server does not answer as S3 does: not a list of objects") from error


def error_code(body: bytes) -> str:
    """The code of an error document, e.g. `NoSuchBucket`; empty when the body is none."""
    try:
        code = _text(_root(body), "Code")
    except (ValueError, ElementTree.ParseError):
        return ""
    return code if code.isalnum() and len(code) < 80 else ""


def _root(body: bytes) -> ElementTree.Element:
    text = body.decode("utf-8")
    if "<!" in text:
        raise ValueError("declarations are not read")
    return ElementTree.fromstring(text)  # noqa: S314  (without declarations no entity can grow)


def _object(entry: ElementTree.Element) -> Object:
    return Object(_text(entry, "Key"), int(_text(entry, "Size")), _text(entry, "ETag"))


def _children(element: ElementTree.Element, name: str) -> Iterator[ElementTree.Element]:
    return (child for child in element if _name(child) == name)


def _text(element: ElementTree.Element, name: str) -> str:
    return next((child.text or "" for child in _children(element, name)), "")


def _name(element: ElementTree.Element) -> str:
    """Without its namespace, which differs between servers."""
    return element.tag.rpartition("}")[2]
