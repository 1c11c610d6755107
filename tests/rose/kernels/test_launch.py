import pytest
from tulip_rose.rose.kernels.launch import part_of_row, parts, some_heads, some_tokens, whole_row

SIZES = [1, 2, 3, 24, 48, 384, 768, 1000, 1024, 4096, 10240]


def is_power(number: int) -> bool:
    return number > 0 and number & (number - 1) == 0


@pytest.mark.parametrize("size", SIZES)
def test_a_row_fits_into_its_block_and_the_block_is_no_larger_than_it_has_to_be(size: int) -> None:
    line = whole_row(size)
    assert is_power(line.block)
    assert is_power(line.warps)
    assert size <= line.block <= max(2, 2 * size - 1)


@pytest.mark.parametrize("size", SIZES)
def test_parts_cover_a_row_and_none_is_empty(size: int) -> None:
    block = part_of_row(size).block
    count = parts(size, block)
    assert (count - 1) * block < size <= count * block


@pytest.mark.parametrize("size", [2, 6, 32, 64, 96, 128, 256])
@pytest.mark.parametrize("heads", [1, 3, 14, 24, 40])
def test_no_thread_holds_a_value_that_another_one_holds_too(heads: int, size: int) -> None:
    tile = some_heads(heads, size)
    assert is_power(tile.high)
    assert size // 2 <= tile.wide
    assert tile.warps == 1 or tile.high * tile.wide >= 2 * 32 * tile.warps
    line = part_of_row(heads * size)
    assert line.warps == 1 or line.block >= 2 * 32 * line.warps


@pytest.mark.parametrize("size", SIZES)
def test_how_a_span_is_summed_depends_on_the_size_of_states_alone(size: int) -> None:
    tile = some_tokens(size)
    assert is_power(tile.high)
    assert is_power(tile.wide)
    assert tile.high == some_tokens(1).high
