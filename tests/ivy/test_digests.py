"""Whose digest counts: of engines of several models, contents or tokenizers those of one are asked."""

from dataclasses import replace

from ivy.client.endpoint import Endpoint
from ivy.client.picking import pinned, set_aside
from ivy.client.target import Standing
from pickingkit.engines import engine


def test_the_first_digest_stays_as_long_as_an_engine_of_it_is_ready():
    old, new = engine("a", "old"), engine("b", "new")
    assert pinned(None, None, [old, new]) == "old"
    assert pinned(None, "new", [old, new]) == "new"
    new.ready = False
    assert pinned(None, "new", [old, new]) == "old"
    old.ready = False
    assert pinned(None, "old", [old, new]) == "old"


def test_a_digest_that_was_asked_for_is_never_left():
    assert pinned("other", None, [engine("a", "old")]) == "other"


def holding(name: str, contents: str, *, texts: str = "t", ready_since: float = 0.0) -> Endpoint:
    """An engine of the model `one` that has loaded these files."""
    found = engine(name, f"one+{contents}")
    return replace(found, card=replace(found.card, texts=texts, ready_since=ready_since))


def test_of_engines_with_other_contents_those_of_the_longest_ready_are_asked_and_stay():
    old, new = holding("a", "x", ready_since=1.0), holding("b", "y", ready_since=2.0)
    assert pinned("one", "one", [new, old]) == "one+x"
    assert pinned(None, None, [new, old]) == "one+x"
    assert pinned("one", "one+y", [new, old]) == "one+y"
    assert set_aside("one+y", [new, old]) == {"a"}
    new.ready = False
    assert pinned("one", "one+y", [new, old]) == "one+x"
    assert set_aside("one+x", [new, old]) == set()


def test_contents_are_left_when_the_last_engine_that_holds_them_goes_and_another_stays():
    old, new = holding("a", "x", ready_since=1.0), holding("b", "y", ready_since=2.0)
    old.standing = Standing.LEAVING
    assert pinned("one", "one+x", [old, new]) == "one+y"
    new.standing = Standing.LEAVING
    assert pinned("one", "one+x", [old, new]) == "one+x"


def test_an_engine_that_has_read_another_tokenizer_is_not_asked():
    strange, right, silent = holding("a", "x", texts="u"), holding("b", "y"), holding("c", "z", texts="")
    assert pinned("one", "one", [strange], "t") == "one"
    assert pinned("one", "one", [strange, right], "t") == "one+y"
    assert pinned("one", "one", [strange, silent], "t") == "one+z"
    assert pinned("one", "one", [strange]) == "one+x"
    assert pinned(None, None, [strange], "t") == "one+x", "nobody has said which model it is to be"
