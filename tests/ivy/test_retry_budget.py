"""How many calls are asked again."""

from ivy.client.retry_budget import RESERVE, RetryBudget


def test_a_retry_budget_lets_a_share_of_calls_be_asked_again():
    budget = RetryBudget(10)
    assert sum(budget.take() for _ in range(1000)) == RESERVE
    for _ in range(101):
        budget.paid()
    assert sum(budget.take() for _ in range(1000)) == 10


def test_without_a_budget_nothing_is_asked_again():
    budget = RetryBudget(0)
    budget.paid()
    assert not budget.take()
