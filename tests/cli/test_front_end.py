"""Names of settings that the commands repeat, so as to load nothing for ``--help``."""

from sms_diar.cli.front_end import CmvnMethod, VadMethod
from sms_diar.features import cmvn, vad


def test_names_are_those_of_the_front_end():
    assert tuple(VadMethod) == vad.METHODS
    assert tuple(CmvnMethod) == cmvn.METHODS
