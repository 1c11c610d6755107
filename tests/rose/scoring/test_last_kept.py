import torch
from tulip_rose.rose.scoring.last_kept import last_kept


def test_padding_at_the_end_of_a_span_is_passed_over() -> None:
    ids = torch.tensor([5, 6, 0, 0, 7, 0, 8, 0, 0])
    bounds = torch.tensor([[0, 4], [4, 7], [7, 9], [2, 4]], dtype=torch.int32)
    assert last_kept(ids, bounds, padding=0).tolist() == [1, 6, 7, 2]


def test_where_no_token_is_padding_the_last_one_is_read() -> None:
    ids = torch.arange(1, 7)
    assert last_kept(ids, torch.tensor([[0, 1], [1, 6]]), padding=0).tolist() == [0, 5]
