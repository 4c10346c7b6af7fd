"""Speakers who recur in several recordings: how linking is learnt and measured."""
