"""Real clients that rank and label, with their default settings."""

import asyncio

import cohere
import numpy as np
import pytest
from huggingface_hub import InferenceClient

QUERY = "what climbs on a trellis"
DOCUMENTS = ["plants climb on it", "a bulb", "roses and ivy", "an iron frame"]


@pytest.fixture
def best(expected):
    """The two best documents and their scores."""
    found = [(index, expected(QUERY, document)[1]) for index, document in enumerate(DOCUMENTS)]
    return sorted(found, key=lambda each: -each[1])[:2]


def assert_best(results, best):
    assert [each.index for each in results] == [index for index, _ in best]
    np.testing.assert_allclose([each.relevance_score for each in results], [score for _, score in best], rtol=1e-6)


@pytest.mark.parametrize("make", [cohere.ClientV2, cohere.Client])
async def test_coheres_clients_rank(scorer, best, make):
    def rank():
        return make(api_key="any", base_url=scorer.url).rerank(
            model="ranker", query=QUERY, documents=DOCUMENTS, top_n=2
        )

    found = await asyncio.to_thread(rank)
    assert_best(found.results, best)
    assert found.meta.api_version.version == ("2" if make is cohere.ClientV2 else "1")
    assert found.meta.billed_units.search_units == 1
    assert found.id


@pytest.mark.parametrize("make", [cohere.AsyncClientV2, cohere.AsyncClient])
async def test_coheres_async_clients_rank(scorer, best, make):
    client = make(api_key="any", base_url=scorer.url)
    found = await client.rerank(model="ranker", query=QUERY, documents=DOCUMENTS, top_n=2)
    assert_best(found.results, best)


async def test_coheres_first_client_gets_its_documents_back(scorer, best):
    client = cohere.AsyncClient(api_key="any", base_url=scorer.url)
    documents = [{"text": text} for text in DOCUMENTS]
    found = await client.rerank(query=QUERY, documents=documents, top_n=2, return_documents=True, rank_fields=["text"])
    assert_best(found.results, best)
    assert [each.document.text for each in found.results] == [DOCUMENTS[index] for index, _ in best]


async def test_coheres_clients_raise_their_own_errors(scorer):
    client = cohere.AsyncClientV2(api_key="any", base_url=scorer.url)
    with pytest.raises(cohere.BadRequestError) as refused:
        await client.rerank(model="ranker", query=QUERY, documents=[])
    assert refused.value.body["error"]["param"] == "documents"
    with pytest.raises(cohere.NotFoundError):
        await client.rerank(model="gpt", query=QUERY, documents=DOCUMENTS)


@pytest.mark.parametrize("path", ["/predict", ""])
async def test_hugging_faces_client_labels_a_text(labeller, reference, values_of, path):
    def label():
        return InferenceClient(model=f"{labeller.url}{path}").text_classification("a text")

    found = await asyncio.to_thread(label)
    values = values_of(*reference("a text"), 3)
    best = found[0] if isinstance(found, list) else found
    assert best.label == ("no", "maybe", "yes")[int(np.argmax(values))]
