"""Checks of a request that depend on the model. Pure."""

from ivy.api.request import EmbeddingsRequest, Form
from ivy.client.card import Card
from ivy.errors import BadDimensions, BadRequest

_WORDS = {"dense": "one vector a text", "sparse": "weights of terms", "tokens": "vectors of tokens"}
_ASK = {
    "dense": "ask /v1/embeddings",
    "sparse": 'ask /v2/embed with embedding_types ["sparse"], or /embed_sparse',
    "tokens": 'ask /v2/embed with embedding_types ["tokens"], or /embed_all',
}


def check_form(form: Form, card: Card) -> None:
    """Check what depends on the model.

    Raises:
        BadRequest: the model scores, or has no such rows.
        BadDimensions: a size that it cannot give.
    """
    if card.task != "embed":
        raise BadRequest(f"this model gives scores and no vectors: ask {scoring_routes(card)}")
    for kind, wanted in form.outputs.items():
        if wanted and kind not in card.outputs:
            raise BadRequest(_without(kind, card))
    if form.terms is not None and "sparse" not in card.outputs:
        raise BadRequest(f"max_terms is of weights of terms, and {_given(card)}", param="max_terms")
    if form.terms is not None and form.terms > card.max_terms:
        raise BadRequest(f"a row of this model has at most {card.max_terms} terms", param="max_terms")
    if form.dimensions is not None and "dense" not in card.outputs:
        raise BadDimensions(
            f"{form.dimensions_field} is of one vector a text, and {_given(card)}", param=form.dimensions_field
        )
    allowed = card.allowed_dimensions | {card.dimensions}
    if form.dimensions is not None and form.dimensions not in allowed:
        known = ", ".join(map(str, sorted(allowed)))
        raise BadDimensions(f"the model gives vectors of {known} dimensions", param=form.dimensions_field)


def check_ids(request: EmbeddingsRequest, card: Card) -> None:
    """Check token ids that the caller gave.

    Raises:
        BadRequest: the model does not have one of them.
    """
    for index, ids in enumerate(request.ids):
        if max(ids) >= card.vocabulary_size or min(ids) < 0:
            place = next(place for place, token in enumerate(ids) if not 0 <= token < card.vocabulary_size)
            param = f"{request.param(index)}[{place}]"
            raise BadRequest(f"{param} is {ids[place]}; token ids are 0 to {card.vocabulary_size - 1}", param=param)


def scoring_routes(card: Card) -> str:
    """The routes of a model that scores."""
    return "/v1/rerank or /v1/score" if len(card.labels) == 1 else "/predict"


def routes_of(card: Card) -> str:
    """What a caller is told to ask a model that embeds."""
    return "; ".join(_ASK[kind] for kind in _kinds(card))


def _kinds(card: Card) -> list[str]:
    return sorted(card.outputs & set(_WORDS))


def _given(card: Card) -> str:
    """What a model gives, and of which size."""
    sizes = {"sparse": f", at most {card.max_terms} a text", "tokens": f" of {card.token_dimensions} dimensions"}
    return "this model gives " + " and ".join(_WORDS[kind] + sizes.get(kind, "") for kind in _kinds(card))


def _without(kind: str, card: Card) -> str:
    """What a caller is told who asks for rows that the model does not have."""
    words = " and ".join(_WORDS[each] for each in _kinds(card))
    return f"this model does not give {_WORDS[kind]}; it gives {words}; {routes_of(card)}"
