"""Means over repetitions, and contests between two methods."""

import pytest

from recipes._common.statistics import count_wins, sign_test, summarise


def test_summary_by_hand():
    runs = [{"sms-paper": {"k": value}} for value in (0.0, 0.5, 1.0)]
    summary = summarise(runs)["sms-paper"]["k"]
    assert summary == pytest.approx(
        {"mean": 0.5, "std": 0.5, "low": 0.05, "median": 0.5, "high": 0.95}
    )
    assert summarise(runs[:1])["sms-paper"]["k"]["std"] == 0.0


def test_wins_ties_and_losses_are_counted_apart():
    runs = [{"sms-paper": {"k": a}, "ms": {"k": 0.5}} for a in (0.6, 0.7, 0.5, 0.4)]
    assert count_wins(runs, "sms-paper", "ms") == {"wins": 2, "ties": 1, "losses": 1}


def test_sign_test_by_hand():
    # 4 of 4: both ends of the binomial law have 1/16.
    assert sign_test(4, 0) == pytest.approx(2 / 16)
    assert sign_test(3, 3) == 1.0
    assert sign_test(0, 0) == 1.0
