from typing import Any

import pytest
from tulip_rose.rose.errors import LoadError
from tulip_rose.rose.models.model import Config
from tulip_rose.rose.scoring.labels import labels_of


@pytest.mark.parametrize(
    ("values", "labels"),
    [
        ({"id2label": {"1": "no", "0": "yes"}}, ("yes", "no")),
        ({"id2label": {0: "only"}}, ("only",)),
        ({"id2label": {str(index): f"L{index}" for index in range(12)}}, tuple(f"L{index}" for index in range(12))),
        ({"num_labels": 3}, ("LABEL_0", "LABEL_1", "LABEL_2")),
        ({}, ("LABEL_0", "LABEL_1")),
        ({"id2label": {"0": "a", "1": "b"}, "num_labels": 2}, ("a", "b")),
    ],
)
def test_labels_stand_in_the_order_of_their_numbers(values: dict[str, Any], labels: tuple[str, ...]) -> None:
    assert labels_of(Config(values, "config.json")) == labels


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"id2label": {"0": "a", "2": "b"}}, "id2label"),
        ({"id2label": {}}, "id2label"),
        ({"id2label": ["a"]}, "id2label"),
        ({"id2label": {"0": "a"}, "num_labels": 2}, "num_labels is 2, id2label has 1"),
        ({"num_labels": 0}, "num_labels is 0"),
    ],
)
def test_labels_that_do_not_count_up_or_do_not_agree_are_refused(values: dict[str, Any], said: str) -> None:
    with pytest.raises(LoadError, match=said) as caught:
        labels_of(Config(values, "config.json"))
    assert str(caught.value).startswith("config.json: ")
