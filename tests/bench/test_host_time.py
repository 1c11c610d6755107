"""`python -m bench.host_time`, but for its length and its page."""

from pathlib import Path

from bench import host_time


def test_what_the_host_does_is_measured_with_graphs_alone_and_its_profile_names_the_engines_own_code(
    tmp_path: Path,
) -> None:
    engine = host_time._engine(tmp_path)
    captured = engine.graphs.replayed
    found = {size: host_time._times(engine, size, steps=4, rounds=2) for size in (1, 64)}
    state = engine.graphs
    # What is measured are replays: whatever was met for the first time came before.
    assert state.replayed - captured >= 2 * 2 * 2 * 4
    assert state.capture_failed == 0
    for kinds in found.values():
        assert {len(times) for times in kinds.values()} == {2}
        assert min(map(min, kinds.values())) > 0
    profile = host_time._profile(engine, 64, 4)
    assert "batch.py" in profile
    assert "sheet.py" in profile
    shown = host_time._table(found, 4, 2).splitlines()[-2:]
    assert [line.split(" | ")[0] for line in shown] == ["| 1", "| 64"]
    assert all(line.endswith(("held |", "held by the fastest |", "missed |")) for line in shown)
