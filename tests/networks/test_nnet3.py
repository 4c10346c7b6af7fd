"""nnet3 networks: equal to a frame-by-frame evaluation, and errors that name nodes."""

import io

import numpy as np
import pytest

from sms_diar.errors import DataFormatError, InvalidParameterError
from sms_diar.io.kaldi.nnet3 import read_nnet3
from sms_diar.networks.nnet3 import Nnet3Network
from tests.networks.nnet3_files import NETS, Builder, Net, plain_tdnn, spliced


def loaded(net, form="binary"):
    return Nnet3Network(read_nnet3(io.BytesIO(getattr(net, form))))


@pytest.mark.parametrize("form", ["binary", "text"])
@pytest.mark.parametrize("make", NETS, ids=lambda make: make.__name__)
def test_output_is_that_of_an_evaluation_frame_by_frame(make, form):
    net = make()
    network = loaded(net, form)
    for n_frames in (15, 16, 40):
        frames = net.normal(n_frames, 4)
        output = network.output(frames)
        assert output.dtype == np.float32
        assert output.shape == (network.dim,)
        expected = net.slow(frames)
        np.testing.assert_allclose(output, expected, rtol=1e-4, atol=2e-5)
        assert np.array_equal(network.output(frames), output)  # from a stored plan


def test_statistics_are_of_the_frames_whose_context_exists():
    # Five frames, context of one on each side: frames 1, 2 and 3 have sums 3, 6 and 9,
    # mean 6 and standard deviation sqrt((9 + 0 + 9) / 3) = 2.449490.
    net = Net(["input-node name=input dim=1"])
    net.add(
        "sum", "FixedAffineComponent", spliced("input", -1, 0, 1),
        LinearParams=np.ones((1, 3)), BiasParams=np.zeros(1),
    )  # fmt: skip
    Builder.extraction(net, "extract", "sum", 1)
    Builder.pooling(net, "pool", "extract", 3)
    Builder.output(net, "pool")
    output = loaded(net).output(np.arange(5.0)[:, None])
    np.testing.assert_allclose(output, [6.0, 2.449490], rtol=1e-6)


def test_pooling_ends_with_its_context():
    # Frames 0 to 3 of 0, 1, ..., 9 are within a right context of 3; their mean is 1.5.
    net = Net(["input-node name=input dim=1"])
    Builder.extraction(net, "extract", "input", 1, squares=False)
    Builder.pooling(net, "pool", "extract", 2, right=3, std=False)
    Builder.output(net, "pool")
    assert loaded(net).output(np.arange(10.0)[:, None]).tolist() == [1.5]


def test_too_few_frames_are_refused():
    network = loaded(plain_tdnn())
    # Contexts of 2 and 3 frames on each side need 11 frames.
    assert network.output(np.zeros((11, 4))).shape == (3,)
    with pytest.raises(InvalidParameterError) as caught:
        network.output(np.zeros((10, 4)))
    assert caught.value.parameter == "frames"
    assert "10" in caught.value.problem


def test_frames_of_another_dimension_are_refused():
    with pytest.raises(InvalidParameterError, match=r"4 dimensions, got 20 x 5"):
        loaded(plain_tdnn()).output(np.zeros((20, 5)))


def test_a_node_can_be_named_as_the_output():
    net = plain_tdnn()
    model = read_nnet3(io.BytesIO(net.binary)).with_output("pool")
    frames = net.normal(20, 4)
    net.lines[-1] = "output-node name=output input=pool"
    output = Nnet3Network(model).output(frames)
    assert output.shape == (10,)
    # Means; the standard deviation of a constant column has only rounding errors.
    np.testing.assert_allclose(output[:5], net.slow(frames)[:5], rtol=1e-4, atol=1e-5)


def changed(net, name, **fields):
    kind, old = net.components[name]
    net.components[name] = (kind, list((dict(old) | fields).items()))
    return net


def replaced(net, old, new):
    net.lines = [line.replace(old, new) for line in net.lines]
    return net


def without(net, name):
    del net.components[name]
    return net


def retyped(net, name, kind):
    net.components[name] = (kind, net.components[name][1])
    return net


WRONG = {
    "type": (
        lambda net: retyped(net, "tdnn2.relu", "LstmComponent"),
        "node 'tdnn2.relu': component 'tdnn2.relu' (LstmComponent) is not supported",
    ),
    "missing component": (
        lambda net: without(net, "tdnn1.relu"),
        "node 'tdnn1.relu': component 'tdnn1.relu' is missing",
    ),
    "missing node": (
        lambda net: replaced(net, "input=extract", "input=nothing"),
        "node 'pool': reads the node 'nothing', which is missing",
    ),
    "cycle": (
        lambda net: replaced(net, "input=tdnn1.affine", "input=tdnn1.batchnorm"),
        "form a cycle",
    ),
    "dimension": (
        lambda net: replaced(net, "dim=4", "dim=3"),
        "component 'tdnn1.affine' takes 20 dimensions, its input has 15",
    ),
    "NaN": (
        lambda net: changed(net, "tdnn2.affine", BiasParams=np.full(5, np.nan)),
        "node 'tdnn2.affine': component 'tdnn2.affine' "
        "(NaturalGradientAffineComponent) has NaN or infinity in <BiasParams>",
    ),
    "bias": (
        lambda net: changed(net, "tdnn2.affine", BiasParams=np.ones(4)),
        "has 5 rows of weights and a bias of 4",
    ),
    "no statistics": (
        lambda net: changed(net, "tdnn2.batchnorm", Count=0.0),
        "has no statistics",
    ),
    "block": (
        lambda net: changed(net, "tdnn1.batchnorm", Dim=7),
        "has 6 scales and 6 offsets for 7 dimensions",
    ),
    "huge dimension": (
        lambda net: changed(net, "tdnn1.relu", Dim=2**31 - 1),
        "needs a <Dim> from 1 to 65536",
    ),
    "huge context": (
        lambda net: changed(net, "pool", RightContext=2**31 - 1),
        "needs a <RightContext> from 0 to 100000",
    ),
    "odd statistics": (
        lambda net: changed(net, "pool", InputDim=10),
        "needs sums and sums of squares",
    ),
    "dropout": (
        lambda net: changed(
            retyped(net, "tdnn2.relu", "DropoutComponent"),
            "tdnn2.relu",
            DropoutProportion=0.2,
        ),
        "'tdnn2.relu' (DropoutComponent) is active; set it to zero",
    ),
    "no input": (
        lambda net: replaced(net, "input=tdnn6.affine", "input=Const(1.0, 3)"),
        "does not depend on the node 'input'",
    ),
    "other input": (
        lambda net: replaced(
            replaced(net, "node name=input", "node name=ivector"), "input)", "ivector)"
        ),
        "node",
    ),
}


@pytest.mark.parametrize("case", WRONG)
@pytest.mark.parametrize("form", ["binary", "text"])
def test_what_the_output_cannot_use_is_named(case, form, tmp_path):
    change, message = WRONG[case]
    path = tmp_path / "final.raw"
    path.write_bytes(getattr(change(plain_tdnn()), form))
    with pytest.raises(DataFormatError) as caught:
        Nnet3Network(read_nnet3(path))
    assert caught.value.path == path
    assert message in caught.value.problem


def test_nodes_that_the_output_does_not_need_are_not_checked():
    net = plain_tdnn()
    net.add(
        "after", "ElementwiseProductComponent", "tdnn6.affine", InputDim=3, OutputDim=1
    )
    net.batch_norm("untrained", "tdnn6.affine", 3)
    changed(net, "untrained", Count=0.0)
    assert loaded(net).dim == 3


def test_numbers_that_overflow_are_reported():
    net = changed(plain_tdnn(), "tdnn6.affine", LinearParams=np.full((3, 10), 3e38))
    with pytest.raises(InvalidParameterError, match="not finite"):
        loaded(net).output(net.normal(20, 4) * 100)


def test_a_small_file_cannot_request_much_memory():
    net = Builder()
    net.add("wide", "NoOpComponent", "Append(input, Const(1.0, 60000))", Dim=60004)
    net.extraction("extract", "IfDefined(wide)", 60004, squares=False)
    net.pooling("pool", "extract", 60005, right=100_000, std=False)
    with pytest.raises(DataFormatError, match="node 'pool': needs more than"):
        loaded(net.output("pool")).output(np.zeros((20, 4)))
