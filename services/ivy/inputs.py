"""`Inputs`: from the inputs of a request to the pieces that engines are asked for. Knows no HTTP and no engine."""

from collections.abc import Sequence

from ivy.api.request import EmbeddingsRequest
from ivy.client.card import Card
from ivy.errors import BadRequest, ContextTooLong, TooManyInputs
from ivy.pieces import Frame, Pieces, after, whole, window_count, windowed
from ivy.tokenize.pool import NOTHING_IN_IT, TokenizerPool, cut_all
from ivy.tokenize.tokenizer import Template
from ivy.tokenize.truncation import Truncation

BY_PLACE = frozenset({"cls", "lastToken"})
"""Poolings that take one token by its place, whatever else is left out."""

_TRUNCATIONS = {
    None: Truncation.NONE,
    "error": Truncation.NONE,
    "end": Truncation.END,
    "start": Truncation.START,
    "chunk": Truncation.CHUNK,
}


class Inputs:
    """Tokenizes, cuts and windows inputs as one model wants them."""

    def __init__(self, pool: TokenizerPool, truncation: str | None, max_inputs: int, *, include_prompt: bool) -> None:
        self._pool = pool
        self._truncation = _TRUNCATIONS[truncation]
        self._max_inputs = max_inputs
        self._include_prompt = include_prompt

    def truncation_of(self, request: EmbeddingsRequest) -> Truncation:
        """What happens to an input of this request that is too long."""
        return request.truncation or self._truncation

    def pools_prompt(self, pooling: str, prompt: str) -> bool:
        """Whether a prompt is a part of the vector.

        Args:
            pooling: as the engine's card has it.
            prompt: of the request; empty for none.

        Raises:
            BadRequest: the model leaves its prompt out of one half of its vector, which spans cannot say.
        """
        if not prompt or self._include_prompt:
            return True
        kinds = set(pooling.split("+"))
        if kinds <= BY_PLACE:
            return True
        if kinds & BY_PLACE:
            raise BadRequest(f"the model pools {pooling} and leaves prompts out, so it takes no prompt here")
        return False

    async def pieces(self, request: EmbeddingsRequest, prompt: str, card: Card) -> Pieces:
        """The sequences of a request.

        Args:
            request: what was asked.
            prompt: what goes before each text; empty for none.
            card: of the model.

        Raises:
            ContextTooLong: an input is too long, and nothing may be cut.
            TooManyInputs: it needs more windows than a request may have inputs.
            BadRequest: an input has no token at all.
        """
        limit = self._limit(request, card)
        truncation = self.truncation_of(request)
        if request.ids:
            return self._of_ids(request, truncation, limit)
        texts = [prompt + text for text in request.texts] if prompt else request.texts
        pools_prompt = self.pools_prompt(card.pooling, prompt)
        if truncation is Truncation.CHUNK:
            frame = self._frame(prompt, pools_prompt, limit)
            return self._windowed(await self._pool.bodies(texts), frame, request)
        inputs = await self._pool.ids(texts, limit, truncation, request.param, request.instead)
        if pools_prompt:
            return whole(inputs)
        own = self._pool.tokenizer.body(prompt)
        begins = [self._after_prompt(ids, own, truncation, limit) for ids in inputs]
        return after(inputs, begins, request.param)

    def _limit(self, request: EmbeddingsRequest, card: Card) -> int:
        limit = min(card.max_input_tokens, request.max_tokens or card.max_input_tokens)
        if limit <= self._pool.tokenizer.template.size:
            raise BadRequest(f"max_tokens {limit} leaves no room for an input", param="max_tokens")
        return limit

    def _of_ids(self, request: EmbeddingsRequest, truncation: Truncation, limit: int) -> Pieces:
        if truncation is Truncation.CHUNK:
            # Ids are taken as they are: nothing is put around their windows.
            return self._windowed(request.ids, Frame(Template((), ()), (), True, limit), request)
        return whole(cut_all(request.ids, limit, truncation, request.param, request.instead))

    def _frame(self, prompt: str, pools_prompt: bool, limit: int) -> Frame:
        tokenizer = self._pool.tokenizer
        frame = Frame(tokenizer.template, tuple(tokenizer.body(prompt)) if prompt else (), pools_prompt, limit)
        if frame.room < 1:
            raise ContextTooLong("the prompt leaves no room for the input", param="input")
        return frame

    def _windowed(self, bodies: Sequence[Sequence[int]], frame: Frame, request: EmbeddingsRequest) -> Pieces:
        for index, body in enumerate(bodies):
            if frame.pooled(body) < 1:
                raise BadRequest(NOTHING_IN_IT, param=request.param(index))
        count = window_count(bodies, frame)
        if count > self._max_inputs:
            raise TooManyInputs(
                f"the inputs need {count} windows, one request may have {self._max_inputs}", param=request.field
            )
        return windowed(bodies, frame)

    def _after_prompt(self, ids: Sequence[int], prompt: Sequence[int], truncation: Truncation, limit: int) -> int:
        """Where the text begins after its prompt, as sentence-transformers counts: the prompt's own tokens."""
        first, kept = len(self._pool.tokenizer.template.leading), len(prompt)
        if truncation is Truncation.START and len(ids) == limit:
            # The prompt may have been cut as well: as much of its end is left as the ids begin with.
            kept = next(
                size for size in range(len(prompt), -1, -1) if [*ids[first : first + size]] == [*prompt[kept - size :]]
            )
        return first + kept


def estimate(request: EmbeddingsRequest, prompt: str, max_tokens: int, truncation: Truncation) -> int:
    """About how many tokens a request has, before any of it is tokenized.

    ASCII has about four characters a token, other scripts from one to three. Unless it is read in windows, an input is
    never longer than the model reads, for it is cut or refused. Token ids are counted as they are.
    """
    sizes = [len(ids) for ids in request.ids] or [about(text, prompt) for text in request.texts]
    return sum(sizes) if truncation is Truncation.CHUNK else sum(min(size, max_tokens) for size in sizes)


def about(text: str, prompt: str) -> int:
    """About how many tokens a text has with its prompt."""
    return 2 + len(prompt) // 4 + (len(text) // 4 if text.isascii() else len(text) // 2)
