"""The file of `--embedding`: what the gateway reads of it, and what it refuses, by name."""

import json

import pytest
from ivy.embedding import DocumentWindows, EmbeddingRules, read_rules, rules_of
from ivy.errors import ConfigError


def test_what_is_absent_is_left_to_the_model():
    assert rules_of({}) == EmbeddingRules()
    assert rules_of({"pooling": "mean", "documentWindows": {}}) == EmbeddingRules()


def test_every_field_of_the_gateway_is_read():
    rules = rules_of(
        {
            "truncation": "chunk",
            "prompts": {"query": "query: "},
            "defaultPrompt": "query",
            "lateChunking": True,
            "documentWindows": {"tokens": 512, "overlapTokens": 0},
        }
    )
    assert (rules.truncation, rules.prompts, rules.default_prompt) == ("chunk", {"query": "query: "}, "query")
    assert (rules.late_chunking, rules.document_windows) == (True, DocumentWindows(512, 0))


@pytest.mark.parametrize(
    ("spec", "named"),
    [
        ({"truncation": "middle"}, "truncation"),
        ({"lateChunking": "yes"}, "lateChunking"),
        ({"documentWindows": 512}, "documentWindows"),
        ({"documentWindows": {"size": 512}}, "documentWindows"),
        ({"documentWindows": {"tokens": 7}}, "documentWindows.tokens"),
        ({"documentWindows": {"tokens": True}}, "documentWindows.tokens"),
        ({"documentWindows": {"overlapTokens": -1}}, "documentWindows.overlapTokens"),
        ({"documentWindows": {"tokens": 8, "overlapTokens": 8}}, "documentWindows.overlapTokens"),
        ({"prompts": ["query: "]}, "prompts"),
        ({"windows": {}}, "windows"),
    ],
)
def test_a_wrong_field_is_named(tmp_path, spec, named):
    path = tmp_path / "embedding.json"
    path.write_text(json.dumps(spec))
    with pytest.raises(ConfigError) as refused:
        read_rules(path)
    assert str(refused.value).startswith(f"{path}: ")
    assert named in str(refused.value)
    assert "\n" not in str(refused.value)
