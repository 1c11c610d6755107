"""The labels of a classifier, as `config.json` names them. Pure."""

from typing import Any

from tulip_rose.rose.errors import LoadError
from tulip_rose.rose.models.model import Config

_WITHOUT_WORD = 2
"""Labels of a config that says nothing of them."""


def labels_of(config: Config) -> tuple[str, ...]:
    """What each value stands for, in order.

    Raises:
        LoadError: `id2label` does not count from 0, or `num_labels` is another number.
    """
    found = config.values.get("id2label")
    if found is None:
        return plain_labels(config.integer("num_labels", _WITHOUT_WORD))
    labels = _counted(found, config.where)
    if config.integer("num_labels", len(labels)) != len(labels):
        raise LoadError(
            f"{config.where}: num_labels is {config.values['num_labels']}, id2label has {len(labels)} labels"
        )
    return labels


def plain_labels(count: int) -> tuple[str, ...]:
    """Labels that nobody named."""
    return tuple(f"LABEL_{index}" for index in range(count))


def _counted(found: Any, where: str) -> tuple[str, ...]:
    if isinstance(found, dict) and found:
        by_number = {str(key): str(label) for key, label in found.items()}
        keys = [str(index) for index in range(len(by_number))]
        if set(keys) == set(by_number):
            return tuple(by_number[key] for key in keys)
    raise LoadError(f"{where}: id2label is not an object of labels by their numbers, 0, 1, 2, …")
