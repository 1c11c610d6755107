"""`Tokens`: the tokens of texts and the texts of tokens, for those who want to look. Knows no HTTP and no engine.

Nothing here waits on engines; how much is done at once is bounded by the bytes of bodies under way.
"""

from collections.abc import Callable, Sequence

from ivy.prompts import Prompts, model_and_role
from ivy.tokenize.pool import TokenizerPool
from ivy.tokenize.tokenizer import Token


class Tokens:
    """Shows what the tokenizer of one model does."""

    def __init__(self, pool: TokenizerPool, prompts: Prompts, served: tuple[str, ...]) -> None:
        self._pool = pool
        self._prompts = prompts
        self._served = served

    async def of(
        self, texts: Sequence[str], model: str | None, prompt_name: str | None, *, with_special: bool
    ) -> list[list[Token]]:
        """The tokens of each text with its prompt.

        Args:
            texts: what to take apart.
            model: a served name, or None. The role of its suffix chooses a prompt where `prompt_name` does not.
            prompt_name: a prompt of the model; None for none.
            with_special: whether the special tokens around a text are shown.

        Raises:
            BadRequest: the model has no such prompt.
            UnknownModel: no such name is served.
        """
        prompt = self._prompt(model, prompt_name)
        tokenizer = self._pool.tokenizer
        return await self._pool.each(texts, lambda text, _: tokenizer.tokens(prompt + text, with_special=with_special))

    async def texts(
        self, ids: Sequence[Sequence[int]], model: str | None, param: Callable[[int], str], *, skip_special: bool
    ) -> list[str]:
        """The text of each list of ids, with or without its special tokens.

        Raises:
            BadRequest: an id is not one of the model's; `param` is what the error calls the list at an index.
            UnknownModel: no such name is served.
        """
        self._role(model)
        return await self._pool.texts(ids, param, skip_special=skip_special)

    def _prompt(self, model: str | None, prompt_name: str | None) -> str:
        role = self._role(model)
        if prompt_name is not None:
            return self._prompts.named(prompt_name, "prompt_name")
        return (self._prompts.of_role(role) or "") if role is not None else ""

    def _role(self, model: str | None) -> str | None:
        return None if model is None else model_and_role(model, self._served)[1]
