from hypothesis import given
from hypothesis import strategies as st
from tulip_rose.rose.graphs.book import PATIENCE, Book, Decision, Run

MOST = 3
hits = st.lists(st.tuples(st.integers(0, 7), st.booleans()), min_size=30, max_size=200)


def hit(book: Book[int], key: int, *, idle: bool = True, works: bool = True) -> Run:
    """One step, and what comes of a capture."""
    decision = book.decide(key, idle=idle)
    if decision.run is Run.CAPTURE:
        (book.captured if works else book.refuse)(key)
    return decision.run


def test_a_key_runs_eagerly_then_is_captured_then_replays() -> None:
    book = Book[int](MOST)
    assert [hit(book, 1) for _ in range(4)] == [Run.EAGER, Run.CAPTURE, Run.REPLAY, Run.REPLAY]


def test_a_busy_device_puts_a_capture_off_until_it_is_idle() -> None:
    book = Book[int](MOST)
    assert [hit(book, 1, idle=False) for _ in range(4)] == [Run.EAGER] * 4
    assert hit(book, 1, idle=True) is Run.CAPTURE


def test_a_device_that_is_never_idle_puts_a_capture_off_no_longer_than_patience_lasts() -> None:
    book = Book[int](MOST)
    runs = [hit(book, 1, idle=False) for _ in range(PATIENCE + 2)]
    assert runs == [Run.EAGER] * PATIENCE + [Run.CAPTURE, Run.REPLAY]


def test_a_failed_capture_is_not_tried_again() -> None:
    book = Book[int](MOST)
    assert [hit(book, 1, works=False) for _ in range(30)] == [Run.EAGER, Run.CAPTURE] + [Run.EAGER] * 28
    assert book.refused == (1,)


def test_the_graph_used_longest_ago_makes_room_and_has_to_come_twice_again() -> None:
    book = Book[int](2)
    for key in (1, 1, 2, 2, 1):
        hit(book, key)
    assert book.held == (2, 1)
    hit(book, 3)
    assert book.decide(3, idle=True) == Decision(Run.CAPTURE, evict=2)
    book.captured(3)
    assert book.held == (1, 3)
    assert hit(book, 2) is Run.EAGER
    assert hit(book, 1) is Run.REPLAY


def test_a_crowded_key_is_split_from_then_on_even_if_it_has_a_graph() -> None:
    book = Book[int](MOST)
    hit(book, 1)
    hit(book, 1)
    book.crowd(1)
    assert hit(book, 1) is Run.SPLIT
    assert hit(book, 2) is Run.EAGER


@given(hits, st.sets(st.integers(0, 7)))
def test_whatever_comes_graphs_are_few_and_replayed_only_while_they_are_held(
    steps: list[tuple[int, bool]], broken: set[int]
) -> None:
    book, graphs, seen = Book[int](MOST), set[int](), set[int]()
    for key, idle in steps:
        decision = book.decide(key, idle=idle)
        if decision.evict is not None:
            assert decision.run is Run.CAPTURE
            graphs.remove(decision.evict)
        if decision.run is Run.REPLAY:
            assert key in graphs
        if decision.run is Run.CAPTURE:
            assert key in seen
            assert key not in graphs
            if key in broken:
                book.refuse(key)
            else:
                book.captured(key)
                graphs.add(key)
        seen.add(key)
        assert graphs == set(book.held)
        assert len(graphs) <= MOST
        assert not graphs & broken


@given(st.lists(st.integers(0, 10_000), max_size=300, unique=True))
def test_keys_that_never_come_back_are_forgotten_and_graphs_are_not(keys: list[int]) -> None:
    book = Book[int](1)
    hit(book, -1)
    hit(book, -1)
    for key in keys:
        hit(book, key)
    assert book.held == (-1,)
    assert len(book._pages) <= 16
