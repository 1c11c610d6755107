"""The routes that score pairs of texts: ranking, scores, labels."""

import asyncio
import time
from uuid import uuid4

from aiohttp import web

from ivy.api import openapi, predict, rerank, score
from ivy.api import render_scores as render
from ivy.scoring.ranking import ranked
from ivy.scoring.request import PairsRequest
from ivy.scoring.service import Scored
from ivy.surfaces.parts import JSON, Parts
from ivy.surfaces.route import Route, Surface
from ivy.timing import TIMING, WORK, Work


async def rank(parts: Parts, request: web.Request) -> web.Response:
    """Rank documents for a query."""
    async with parts.asked(request, lambda data: rerank.parse(data, parts.config.max_inputs)) as (asked, deadline):
        found = await _scored(parts, request, asked.asked, deadline)
        order = ranked(found.raw[:, 0], asked.top_n)
        documents = asked.documents if asked.with_documents else None
        scores = found.scores[:, 0]
        if asked.is_tei:
            return _json(render.ranks(scores, order, documents))
        head = _head(parts, asked.asked, found)
        return _json(render.results(scores, order, documents, "2" if request.path.startswith("/v2") else "1", head))


async def scores(parts: Parts, request: web.Request) -> web.Response:
    """Score pairs of texts."""
    async with parts.asked(request, lambda data: score.parse(data, parts.config.max_inputs)) as (asked, deadline):
        found = await _scored(parts, request, asked, deadline)
        head = _head(parts, asked, found)
        return _json(render.scored(found.scores[:, 0], {**head, "created": int(time.time())}))


async def labels(parts: Parts, request: web.Request) -> web.Response:
    """Give each label of the model a score, for texts or pairs of texts."""
    async with parts.asked(request, lambda data: predict.parse(data, parts.config.max_inputs)) as (asked, deadline):
        found = await _scored(parts, request, asked.asked, deadline)
        return _json(render.predictions(found.scores, found.labels, is_list=asked.is_list))


async def _scored(parts: Parts, request: web.Request, asked: PairsRequest, deadline: float) -> Scored:
    async with asyncio.timeout(parts.config.request_timeout_s):
        found = await parts.scoring.score(asked, request[TIMING], deadline)
    request[WORK] = Work(len(asked.pairs), found.tokens)
    return found


def _head(parts: Parts, asked: PairsRequest, found: Scored) -> dict[str, object]:
    return {
        "id": str(uuid4()),
        "object": "list",
        "model": asked.model or parts.config.served_names[0],
        "usage": render.usage(found.tokens),
    }


def _json(body: bytes) -> web.Response:
    return web.Response(body=body, content_type=JSON)


def _ref(name: str) -> dict[str, object]:
    return {"$ref": openapi.REF.format(name=name)}


RANKS = {"type": "array", "items": _ref("TeiRank")}
"""What is answered to the clients of text-embeddings-inference."""


def _ranks(path: str) -> Route:
    answer = {"anyOf": [_ref("RerankAnswer"), RANKS]}
    operation = openapi.work(
        "Rank documents, as the clients of Jina, Cohere or text-embeddings-inference ask.",
        ("RerankBody", "TeiRerankBody"),
        rerank.EXAMPLE,
        answer,
    )
    return Route("POST", path, rank, operation, is_work=True)


_SCORES = openapi.work("Score pairs of texts.", "ScoreBody", score.EXAMPLE, "ScoreAnswer")
_PREDICTIONS = {"type": "array", "items": _ref("Prediction")}
LABELS = {"anyOf": [_PREDICTIONS, {"type": "array", "items": _PREDICTIONS}]}
_PREDICT = openapi.work(
    "Label texts or pairs, as the clients of text-embeddings-inference ask.", "PredictBody", predict.EXAMPLE, LABELS
)

SURFACE = Surface(
    routes=(
        *(_ranks(path) for path in ("/v1/rerank", "/v2/rerank", "/rerank")),
        *(Route("POST", path, scores, _SCORES, is_work=True) for path in ("/v1/score", "/score")),
        Route("POST", "/predict", labels, _PREDICT, is_work=True),
    ),
    structs=(
        rerank.RerankBody,
        rerank.TeiRerankBody,
        rerank.RerankAnswer,
        rerank.TeiRank,
        score.ScoreBody,
        score.ScoreAnswer,
        predict.PredictBody,
        predict.Prediction,
    ),
    forms={("PredictBody", "inputs"): predict.FORMS, **score.FORMS},
)
