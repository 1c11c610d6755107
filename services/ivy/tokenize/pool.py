"""`TokenizerPool`: many texts to ids, off the event loop. The only file of this folder that knows the loop.

Every thread runs the library single-threaded (`TOKENIZERS_PARALLELISM=false`, set in `ivy.__main__`): how many cores
are used is decided here, once, and not again inside each call. The jobs that wait are bounded by admission, which
counts the tokens of every accepted request.
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from ivy.errors import BadRequest, ContextTooLong
from ivy.tokenize.tokenizer import Tokenizer, TooLong, cut_ids
from ivy.tokenize.truncation import Truncation

INLINE_CHARACTERS = 400
"""Up to here a thread costs more than it saves; see docs/decisions/0004-short-texts-on-the-event-loop.md."""
JOB_CHARACTERS = 32 * 1024
"""Of one job: a few milliseconds, so that a short request waits behind a few of them and not behind a whole batch."""

NOTHING_IN_IT = "the text has no token of the model in it"

TokenIds = Sequence[int]
_Done = TypeVar("_Done")


class TokenizerPool:
    """A bounded number of threads around one tokenizer."""

    def __init__(self, tokenizer: Tokenizer, threads: int) -> None:
        self.tokenizer = tokenizer
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="ivy-tokenize")

    async def ids(
        self,
        texts: Sequence[str],
        max_tokens: int,
        truncation: Truncation,
        param: Callable[[int], str],
        instead: str,
    ) -> list[TokenIds]:
        """The ids of each text, special tokens included, in the order of the texts.

        Args:
            texts: what to tokenize, prompts included.
            max_tokens: the longest sequence.
            truncation: what happens to a longer one.
            param: what an error calls the text at an index.
            instead: what an error says that `truncate` may be.

        Raises:
            ContextTooLong: one of them has more tokens, and nothing may be cut.
            BadRequest: one of them has no token at all.
        """

        def one(text: str, index: int) -> TokenIds:
            try:
                ids = self.tokenizer.ids(text, max_tokens, truncation)
            except TooLong as error:
                raise too_long(error, max_tokens, param(index), instead) from None
            if not ids:
                raise BadRequest(NOTHING_IN_IT, param=param(index))
            return ids

        return await self.each(texts, one)

    async def bodies(self, texts: Sequence[str]) -> list[TokenIds]:
        """All ids of each text, however many, without special tokens."""
        return await self.each(texts, lambda text, _: self.tokenizer.body(text))

    async def texts(self, ids: Sequence[TokenIds], param: Callable[[int], str], *, skip_special: bool) -> list[str]:
        """The text of each list of ids.

        Args:
            ids: lists of ids.
            param: what an error calls the list at an index.
            skip_special: whether special tokens are left out.

        Raises:
            BadRequest: an id is not one of the tokenizer's.
        """

        def one(own: TokenIds, index: int) -> str:
            place = self.tokenizer.stranger(own)
            if place is not None:
                name = f"{param(index)}[{place}]"
                last = self.tokenizer.last_id()
                raise BadRequest(
                    f"{name} is {own[place]}, which is no token of the model: they are 0 to {last}", param=name
                )
            return self.tokenizer.text(own, skip_special=skip_special)

        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, lambda: [one(own, index) for index, own in enumerate(ids)])

    async def each(self, texts: Sequence[str], work: Callable[[str, int], _Done], *, more: int = 0) -> list[_Done]:
        """Do something with every text and its index, in threads where it takes long; gives it in their order.

        Args:
            texts: what is worked on.
            work: gets a text and its index.
            more: characters that are worked on with each of them.
        """
        if sum(map(len, texts)) + more * len(texts) <= INLINE_CHARACTERS:
            return _job(texts, 0, work)
        loop = asyncio.get_running_loop()
        jobs = [
            loop.run_in_executor(self._threads, _job, texts[first:end], first, work)
            for first, end in jobs_of(texts, more)
        ]
        try:
            return [one for done in await asyncio.gather(*jobs) for one in done]
        finally:
            # One too long text, or a caller that is gone: what has not begun need not be done.
            for job in jobs:
                job.cancel()

    def close(self) -> None:
        """End the threads; jobs that wait are dropped, and the tokenizer's memory goes with the last that works."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        del self.tokenizer


def _job(texts: Sequence[str], first: int, work: Callable[[str, int], _Done]) -> list[_Done]:
    return [work(text, index) for index, text in enumerate(texts, start=first)]


def cut_all(
    given: Sequence[TokenIds], max_tokens: int, truncation: Truncation, param: Callable[[int], str], instead: str
) -> list[TokenIds]:
    """Token ids that the caller made, cut to the model's length.

    Raises:
        ContextTooLong: one of them is longer, and nothing may be cut.
    """
    found: list[TokenIds] = []
    for index, ids in enumerate(given):
        try:
            found.append(cut_ids(ids, max_tokens, truncation))
        except TooLong as error:
            raise too_long(error, max_tokens, param(index), instead) from None
    return found


def jobs_of(texts: Sequence[str], more: int = 0) -> Iterator[tuple[int, int]]:
    """Split texts into runs `[first, end)` of about `JOB_CHARACTERS`; a longer text is a run of its own."""
    first, weight = 0, 0
    for place, text in enumerate(texts):
        if weight and weight + len(text) + more > JOB_CHARACTERS:
            yield first, place
            first, weight = place, 0
        weight += len(text) + more
    yield first, len(texts)


def too_long(error: TooLong, max_tokens: int, param: str, instead: str = "'end' or 'start'") -> ContextTooLong:
    """The error of the API for an input that is too long, in the model's own numbers."""
    return ContextTooLong(
        f"the model reads at most {max_tokens} tokens, this input has {error.tokens}; "
        f"shorten it, or ask for truncate {instead}",
        param=param,
    )
