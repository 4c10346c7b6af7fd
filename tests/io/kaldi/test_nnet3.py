"""Files of nnet3 networks: both forms, old forms, and damage that is named."""

import io

import numpy as np
import pytest

from sms_diar.errors import DataFormatError
from sms_diar.io.kaldi.nnet3 import Term, parse_descriptor, read_nnet3
from tests.networks.nnet3_files import Net

NODE = "component-node name=a component=layer input=input"


def small():
    net = Net(["input-node name=input dim=2", "output-node name=output input=a"])
    net.lines.insert(1, NODE)
    fields = [
        ("LearningRateFactor", 0.5),
        ("IsGradient", False),
        ("LearningRate", 0.001),
        ("TimeOffsets", [-1, 2]),
        ("LinearParams", np.array([[0.5, 1, 2, 3], [4, 5, 6, 7]])),
        ("BiasParams", np.array([0.25, -1])),
        ("RankInOut", (20, 80)),
    ]
    net.components["layer"] = ("TdnnComponent", fields)
    return net


def read(data):
    return read_nnet3(io.BytesIO(data))


@pytest.mark.parametrize("form", ["binary", "text"])
def test_both_forms_have_the_same_content(form):
    model = read(getattr(small(), form))
    assert list(model.nodes) == ["input", "a", "output"]
    assert model.nodes["input"].dim == 2
    assert model.nodes["a"].component == "layer"
    assert model.nodes["output"].terms == (Term("node", name="a"),)
    component = model.components["layer"]
    assert (component.name, component.type) == ("layer", "TdnnComponent")
    assert component.fields["LearningRateFactor"] == 0.5
    assert component.fields["IsGradient"] is False
    assert component.fields["TimeOffsets"].tolist() == [-1, 2]
    assert component.fields["LinearParams"].tolist() == [[0.5, 1, 2, 3], [4, 5, 6, 7]]
    assert component.fields["BiasParams"].tolist() == [0.25, -1]


def test_both_forms_of_a_network_of_kaldi_are_equal(kaldi_reference):
    folder = kaldi_reference.folder / "xvector_nnet"
    binary, text = (read_nnet3(folder / name) for name in ("final.raw", "final.txt"))
    assert binary.nodes == text.nodes
    assert list(binary.components) == list(text.components)
    assert len(binary.components) == 25
    for name, component in binary.components.items():
        for field, value in component.fields.items():
            # Kaldi writes seven digits.
            other = text.components[name].fields[field]
            np.testing.assert_allclose(value, other, rtol=1e-6, atol=1e-9)


def test_old_components_end_with_their_opening_token():
    data = small().text.replace(b"</TdnnComponent>", b"<TdnnComponent>")
    assert read(data).components["layer"].fields["TimeOffsets"].tolist() == [-1, 2]


def test_lines_of_another_file_replace_nodes(tmp_path):
    path = tmp_path / "extract.config"
    path.write_text(
        "# the embedding\n\noutput-node name=output input=Scale(2, a)  # twice\n"
    )
    model = read(small().text).with_config(path)
    scale = Term("scale", (Term("node", name="a"),), number=2.0)
    assert model.nodes["output"].terms == (scale,)
    assert model.nodes["input"].dim == 2


def test_operations_apply_to_each_appended_part():
    a, b = (Term("node", name=name) for name in "ab")
    assert parse_descriptor("Offset(Append(a, b), -3)") == (
        Term("offset", (a,), number=-3),
        Term("offset", (b,), number=-3),
    )
    assert parse_descriptor("Sum(Append(a,b) , Append( b, a))") == (
        Term("sum", (a, b)),
        Term("sum", (b, a)),
    )
    assert parse_descriptor("Const(0.5, 3)") == (Term("const", number=0.5, dim=3),)
    assert parse_descriptor("Offset(a, 2, 0)") == (Term("offset", (a,), number=2),)


@pytest.mark.parametrize(
    ("descriptor", "problem"),
    [
        ("Append(a, b", "expected ',' or ')' in Append, got 'the end'"),
        ("Offset(a)", "Offset in a descriptor has the wrong number of arguments"),
        ("Offset(a, 1, 1)", "wrong number of arguments"),
        ("Offset(a, x)", "expected a whole number, got 'x'"),
        ("Offset(a, 100001)", "Offset has the number 100001"),
        ("Round(a, 0)", "Round has the number 0"),
        ("Scale(x, a)", "expected a number, got 'x'"),
        ("ReplaceIndex(a, x, 0)", "ReplaceIndex replaces only t, got 'x'"),
        ("Sum(Append(a, b), a)", "parts of different size"),
        ("Switch(a, b)", "operation 'Switch' of descriptors is not supported"),
        ("a b", "descriptor has 'b' after its end"),
        ("Append()", "expected the name of a node in a descriptor, got ')'"),
        ("Const(1, 70000)", "a dimension is from 1 to 65536, got 70000"),
        ("", "output-node has no input="),
        ("Sum(" * 60 + "a" + ")" * 60, "nested more than 50 deep"),
    ],
)
def test_bad_descriptors_are_refused_with_their_line(descriptor, problem, tmp_path):
    path = tmp_path / "extract.config"
    path.write_text(f"\noutput-node name=output input={descriptor}\n")
    with pytest.raises(DataFormatError) as caught:
        read(small().text).with_config(path)
    assert (caught.value.path, caught.value.line) == (path, 2)
    assert problem in caught.value.problem


DAMAGE = {
    "token": (b"<Nnet3>", b"<Nnet2>", "expected <Nnet3>, got '<Nnet2>'"),
    "acoustic": (b"<Nnet3>", b"<TransitionModel>", "nnet3-am-copy --raw=true"),
    "node": (
        b"component-node",
        b"component",
        "such as component-node, got 'component'",
    ),
    "twice": (b"name=a ", b"name=input ", "node 'input' occurs a second time"),
    "key": (b"component=layer", b"component=", "component-node has no component="),
    "dim": (b"dim=2", b"dim=-2", "a dimension is from 1 to 65536, got -2"),
    "count": (b"<NumComponents>", b"<Components>", "expected <NumComponents>"),
    "type": (b"<TdnnComponent>", b"TdnnComponent", "expected its type"),
    "field": (
        b"<TimeOffsets>",
        b"<TimeHeights>",
        "component 'layer' (TdnnComponent) of node 'a': unknown field '<TimeHeights>'",
    ),
    "flag": (b"<IsGradient> F", b"<IsGradient> X", "must be T or F"),
    "end": (b"</Nnet3>", b"</Nnet>", "expected </Nnet3>"),
}


@pytest.mark.parametrize("form", ["binary", "text"])
@pytest.mark.parametrize("case", DAMAGE)
def test_damage_is_named(case, form):
    old, new, problem = DAMAGE[case]
    data = getattr(small(), form)
    assert data.count(old) == 1
    with pytest.raises(DataFormatError) as caught:
        read(data.replace(old, new))
    assert problem in caught.value.problem
    assert (caught.value.line is None) == (form == "binary")


@pytest.mark.parametrize("form", ["binary", "text"])
def test_every_truncated_file_is_refused(form):
    data = getattr(small(), form)
    end = data.index(b"</Nnet3>") + len(b"</Nnet3>")
    for size in range(end):
        with pytest.raises(DataFormatError):
            read(data[:size])
    assert len(read(data[:end]).components) == 1


def test_a_component_cannot_occur_twice():
    net = small()
    data = net.text.replace(b"<NumComponents> 1", b"<NumComponents> 2")
    component = data[data.index(b"<ComponentName>") : data.index(b"</Nnet3>")]
    with pytest.raises(DataFormatError, match="'layer' occurs a second time"):
        read(data.replace(component, component * 2))
