"""Wrong settings of a recipe are refused before any work, by the name of one."""

import re

import pytest

from sms_diar.errors import ConfigError, InvalidParameterError
from sms_diar.experiment.recipe import find_recipe, run_recipe

CALLS = ("data=d", "reference=r")
TREE = ("corpus=['a']",)
WRONG = {
    "callhome": [
        ("data",),
        ("reference", "data=d"),
        ("speech", *CALLS, "speech=ears"),
        ("speakers", *CALLS, "speakers=two"),
        ("overlap", *CALLS, "overlap=no"),
        ("vad_labels", *CALLS, "speech=labels"),
        ("backend", *CALLS, "backend=b", "plda=p"),
        ("transform", *CALLS, "transform=t"),
        ("method", *CALLS, "method=SMS"),
        ("k", *CALLS, "method=sms", "k=5"),
        ("halves", *CALLS, "halves=['d']"),
        ("adapt", *CALLS, "adapt=true"),
        ("thresholds", *CALLS, "method=ahc", "thresholds=[0.0]"),
        ("threshold", *CALLS, "halves=['d', 'e']", "thresholds=[0.0]"),
    ],
    "conversations": [
        ("layout", "layout=timit"),
        ("data", "layout=ami"),
        ("microphone", "layout=ami", "data=d", "microphone=Lapel-0"),
        ("microphone", "layout=dihard", "data=d", "microphone=sdm"),
        ("split", "layout=voxconverse", "data=d", "split=train"),
        ("split", "layout=callhome", "data=d", "split=dev"),
        ("overlap", "overlap=no"),
        ("uem", "uem=no"),
        ("oracles", 'oracles=["names"]'),
        ("oracles", "models=neural", 'oracles=["speech"]'),
        ("models", 'models=["auto", "xvectors"]'),
        ("models", "models=[]"),
        ("peers", "peers=folder"),
        ("peers", "peers='mine=no-such-program {audio}'"),
        ("peers", "peers=['neural=a']"),
        ("peers", "peers=['mine=a', 'mine=b']"),
        ("python", "peers=senko", "python=/no/python"),
        ("data", "layout=simulated", "data=x"),
        ("meetings.speakers", "meetings.speakers=[]"),
        ("meetings.vad", "meetings.vad=loud"),
    ],
    "speakers": [
        ("source", "source=nist"),
        ("methods", 'methods=["ms", "SMS"]'),
        ("speakers", "speakers=[1]"),
        ("speakers", "runs=0"),
        ("embeddings", "source=data"),
    ],
    "sre": [
        ("corpus",),
        ("corpus", *TREE, "embeddings=b"),
        ("labels", "embeddings=b"),
        ("year", *TREE, "year=2014"),
        ("model", *TREE, "model=m", "train=['d']"),
        ("methods", *TREE, "methods=['X']"),
        ("speakers", *TREE, "runs=0"),
    ],
    "telephone": [("ldc",), ("corpora", "ldc=d", "corpora=['fisher']")],
    "synthetic": [("methods", "methods=['ms']")],
}


@pytest.mark.parametrize(
    ("recipe", "setting", "assignments"),
    [(name, wrong[0], wrong[1:]) for name, rows in WRONG.items() for wrong in rows],
)
def test_a_wrong_setting_is_named(tmp_path, recipe, setting, assignments):
    with pytest.raises((ConfigError, InvalidParameterError)) as caught:
        run_recipe(find_recipe(recipe), tmp_path / "exp", assignments=assignments)
    assert re.search(rf"\b{setting}\b.* must ", str(caught.value))
    assert not (tmp_path / "exp" / "report").exists()
