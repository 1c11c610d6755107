"""The set of engines stays that of the cluster, whatever happens to the watch and to the API server."""

import asyncio
import logging
import random
import ssl
from dataclasses import replace

import pytest
from ivy.config import ApiServer

ONE, TWO, THREE = (f"10.0.0.{number}:50051" for number in (1, 2, 3))


def bound(followed, *addresses: str):
    return lambda: followed.addresses == list(addresses)


async def test_what_is_listed_is_the_set_and_what_changes_is_seen_at_once(
    api_server, followed, until, pod, slice_object
):
    api_server.put(slice_object("a", pod("10.0.0.1", "p")))
    await until(bound(followed, ONE))
    lists = api_server.lists
    api_server.put(slice_object("a", pod("10.0.0.1", "p"), pod("10.0.0.2", "q")))
    await until(bound(followed, ONE, TWO))
    api_server.put(slice_object("b", pod("10.0.0.3", "r")))
    await until(bound(followed, ONE, TWO, THREE))
    api_server.delete("a")
    await until(bound(followed, THREE))
    assert api_server.lists == lists


async def test_a_watch_begins_where_the_list_ended_and_asks_for_bookmarks(
    api_server, followed, until, pod, slice_object
):
    await until(lambda: len(api_server.asked) >= 2)
    asked, watched = api_server.asked[:2]
    assert "resourceVersion" not in asked
    assert watched["resourceVersion"] == "100"
    assert watched["allowWatchBookmarks"] == "true"
    assert 20 <= int(watched["timeoutSeconds"]) <= 40


async def test_a_set_that_stays_the_same_is_not_told_again(api_server, followed, until, pod, slice_object):
    api_server.put(slice_object("a", pod("10.0.0.1", "p")))
    await until(lambda: followed.addresses == [ONE] and len(api_server.watches) == 1)
    for number in range(5):
        api_server.put(slice_object("a", pod("10.0.0.1", "p")) | {"labels": {"n": str(number)}})
    api_server.put(slice_object("a", pod("10.0.0.2", "q")))
    await until(bound(followed, TWO))
    assert len(followed.sets) == 2


async def test_bookmarks_keep_a_watch_alive(api_server, followed, until, quick):
    await until(lambda: len(api_server.watches) == 1)
    ends = asyncio.get_running_loop().time() + 2 * quick.stall_s
    while asyncio.get_running_loop().time() < ends:
        api_server.bookmark()
        await asyncio.sleep(quick.stall_s / 10)
    assert api_server.lists == 1
    assert followed.metric("trellis_gateway_sync_age_seconds") < quick.stall_s


async def test_a_watch_that_is_silent_too_long_is_opened_again_with_a_list(
    api_server, followed, until, pod, slice_object
):
    await until(lambda: len(api_server.watches) == 1)
    api_server.silent = True
    api_server.put(slice_object("a", pod("10.0.0.1")))
    await until(bound(followed, ONE))
    assert followed.restarts("stalled") >= 1


async def test_a_watch_that_misses_a_delete_leaves_no_ghost(api_server, following, until, pod, slice_object, quick):
    api_server.put(slice_object("a", pod("10.0.0.1")))
    api_server.put(slice_object("b", pod("10.0.0.2")))
    async with following(ApiServer(api_server.url), replace(quick, stall_s=60, relist_s=0.5)) as followed:
        await until(bound(followed, ONE, TWO))
        api_server.silent = True
        api_server.delete("b")
        await until(bound(followed, ONE))
        assert followed.restarts("due") >= 1
        assert followed.restarts("stalled") == 0


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"type":"ERROR","object":{"code":410,"reason":"Expired"}}\n', "expired"),
        (b'{"type":"ERROR","object":{"code":500,"reason":"InternalError"}}\n', "error_event"),
        (b"garbage\n", "garbage"),
        (b'{"type":"ADDED","object":{}}\n', "garbage"),
        (b'{"type":"ADDED","object":{"metadata":{"name":"gho', "ended"),
    ],
)
async def test_whatever_ends_a_watch_the_set_is_read_again(
    api_server, followed, until, pod, slice_object, line, reason
):
    api_server.put(slice_object("a", pod("10.0.0.1")))
    await until(lambda: followed.addresses == [ONE] and len(api_server.watches) == 1)
    api_server.silent = True
    api_server.put(slice_object("a", pod("10.0.0.2")))
    api_server.say(line)
    api_server.cut()
    await until(bound(followed, TWO))
    assert followed.restarts(reason) == 1
    assert followed.sets[1:] == [followed.sets[-1]]


async def test_a_version_that_is_too_old_for_a_watch_is_left_behind(api_server, followed, until, pod, slice_object):
    api_server.watch_status = 410
    api_server.cut()
    await until(lambda: followed.restarts("expired") >= 1)
    api_server.watch_status = 200
    api_server.put(slice_object("a", pod("10.0.0.1")))
    await until(bound(followed, ONE))


async def test_while_the_api_server_is_away_the_last_set_stays_and_afterwards_it_is_right(
    api_server, followed, until, pod, slice_object, caplog
):
    caplog.set_level(logging.INFO, "ivy")
    api_server.put(slice_object("a", pod("10.0.0.1"), pod("10.0.0.2")))
    await until(bound(followed, ONE, TWO))
    await api_server.down()
    await until(lambda: followed.restarts("unreachable") >= 5)
    assert followed.sets[-1] == followed.sets[0]
    # One of them may be the watch that was cut.
    assert followed.metric('trellis_gateway_relists_total{outcome="failed"}') >= 4
    assert sum("cannot be read, 2 known ones stay" in each.message for each in caplog.records) == 1
    api_server.slices["a"] = slice_object("a", pod("10.0.0.3"))
    await api_server.up()
    await until(bound(followed, THREE))
    assert len(followed.sets) == 2
    assert any("are read again" in each.message for each in caplog.records)


async def test_a_list_that_takes_too_long_is_given_up_and_changes_nothing(
    api_server, followed, until, pod, slice_object
):
    api_server.put(slice_object("a", pod("10.0.0.1")))
    await until(bound(followed, ONE))
    api_server.list_gate.clear()
    api_server.slices.clear()
    api_server.cut()
    await until(lambda: followed.restarts("slow") >= 1)
    assert followed.addresses == [ONE]
    api_server.list_gate.set()
    await until(bound(followed))


async def test_a_list_in_pages_is_one_set(api_server, followed, until, pod, slice_object):
    api_server.page_size = 2
    api_server.silent = True
    for number in range(7):
        api_server.put(slice_object(f"s{number}", pod(f"10.0.0.{number}")))
    api_server.cut()
    await until(lambda: len(followed.addresses) == 7)
    assert [len(each) for each in followed.sets] == [7]


async def test_an_api_server_that_refuses_says_what_is_missing_and_is_not_hammered(api_server, followed, until, caplog):
    api_server.list_status = 403
    api_server.cut()
    await until(lambda: followed.restarts("refused") >= 3)
    complaints = [each.message for each in caplog.records if "cannot be read" in each.message]
    assert len(complaints) == 1
    assert "answers 403: the ServiceAccount needs get, list and watch of endpointslices" in complaints[0]


async def test_failures_in_a_row_are_farther_and_farther_apart(api_server, following, until, quick):
    api_server.list_status = 500
    pace = replace(quick, first_pause_s=0.01, longest_pause_s=60.0, settled_s=60.0)
    async with following(ApiServer(api_server.url), pace) as followed:
        await until(lambda: followed.restarts("status") >= 5)
        times = []
        for _ in range(2):
            seen = api_server.lists
            await until(lambda seen=seen: api_server.lists > seen)
            times.append(asyncio.get_running_loop().time())
        assert times[1] - times[0] >= 0.01 * 2**5 / 2


async def test_a_watch_that_the_server_ends_at_once_is_not_opened_in_a_hot_loop(api_server, following, until, quick):
    api_server.first_line = b"garbage\n"
    pace = replace(quick, first_pause_s=0.02, longest_pause_s=60.0, settled_s=60.0)
    async with following(ApiServer(api_server.url), pace) as followed:
        await until(lambda: followed.restarts("garbage") >= 4)
        began = asyncio.get_running_loop().time()
        await until(lambda: followed.restarts("garbage") >= 6)
        assert asyncio.get_running_loop().time() - began >= 0.02 * 2**5 / 2


async def test_a_token_that_was_replaced_is_the_one_that_is_sent(api_server, following, until, tmp_path, quick):
    token = tmp_path / "token"
    token.write_text("first\n")
    async with following(ApiServer(api_server.url, token_file=token), quick) as followed:
        await until(lambda: len(api_server.watches) == 1)
        assert set(api_server.tokens) == {"Bearer first"}
        token.write_text("second\n")
        api_server.cut()
        await until(lambda: api_server.tokens[-1] == "Bearer second")
        token.write_text("two words\r\n")
        api_server.cut()
        await until(lambda: followed.restarts("refused") >= 1)
        token.unlink()
        await until(lambda: followed.restarts("unreachable") >= 1)
        token.write_text("third")
        await until(lambda: api_server.tokens[-1] == "Bearer third")
    assert all(each in ("Bearer first", "Bearer second", "Bearer third") for each in api_server.tokens)


async def test_only_a_server_that_the_certificates_vouch_for_is_believed(
    api_server, following, until, certificate, quick, pod, slice_object
):
    await api_server.down()
    api_server.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    api_server.tls.load_cert_chain(*certificate)
    await api_server.up()
    api_server.put(slice_object("a", pod("10.0.0.1")))
    async with following(ApiServer(api_server.url), quick) as followed:
        await until(lambda: followed.restarts("unreachable") >= 2)
    assert not api_server.asked
    async with following(ApiServer(api_server.url, ca_file=certificate[0]), quick) as followed:
        await until(bound(followed, ONE))


async def test_a_redirect_does_not_get_the_token(api_server, following, until, tmp_path, quick):
    token = tmp_path / "token"
    token.write_text("secret")
    api_server.list_status = 307
    async with following(ApiServer(api_server.url, token_file=token), quick) as followed:
        await until(lambda: followed.restarts("status") >= 1)
    assert not api_server.went_elsewhere


async def test_what_the_cluster_says_of_engines_is_counted(api_server, followed, until, pod, slice_object):
    api_server.put(
        slice_object("a", pod("10.0.0.1"), pod("10.0.0.2", ready=False), pod("10.0.0.3", ready=False, terminating=True))
    )
    await until(bound(followed, ONE, TWO, THREE))
    for state in ("ready", "not_ready", "terminating"):
        assert followed.metric(f'trellis_gateway_endpoints{{state="{state}"}}') == 1


@pytest.mark.parametrize("seed", range(6))
async def test_through_any_mixture_of_troubles_the_set_becomes_that_of_the_cluster(
    api_server, following, until, pod, slice_object, quick, seed
):
    chance = random.Random(seed)
    names = ["a", "b", "c"]

    def change() -> None:
        name = chance.choice(names)
        if name in api_server.slices and chance.random() < 0.3:
            api_server.delete(name)
        else:
            hosts = chance.sample(range(1, 10), chance.randrange(4))
            api_server.put(slice_object(name, *(pod(f"10.0.0.{host}") for host in hosts)))

    async def away() -> None:
        await api_server.down()
        change()
        await api_server.up()

    def expire() -> None:
        api_server.say(b'{"type":"ERROR","object":{"code":410}}\n')

    def garble() -> None:
        api_server.say(b'{"type":"ADDED","object":{"metadata":{"name":"ghost"}}}\n')

    def forget() -> None:
        api_server.silent = not api_server.silent

    async with following(ApiServer(api_server.url), replace(quick, relist_s=1.0)) as followed:
        for _ in range(60):
            done = chance.choices([change, expire, garble, forget, api_server.cut, away], [8, 1, 1, 2, 1, 1])[0]()
            if done is not None:
                await done
            await asyncio.sleep(chance.choice([0, 0, 0.01, 0.03]))
        api_server.silent = False
        wanted = {
            f"{each['addresses'][0]}:50051" for one in api_server.slices.values() for each in one["endpoints"] or []
        }
        await until(lambda: set(followed.addresses) == wanted)
