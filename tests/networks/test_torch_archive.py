"""Archives of tensors, made by hand, benign and hostile."""

import pickle
import struct
import zipfile

import numpy as np
import pytest

from sms_diar.errors import DataFormatError, MissingFileError
from sms_diar.networks.torch_archive import read_tensors


def text(word):
    return b"X" + struct.pack("<I", len(word)) + word.encode()


def whole(number):
    return b"J" + struct.pack("<i", number)


def sizes(numbers):
    return b"(" + b"".join(map(whole, numbers)) + b"t"


def tensor(shape, strides, *, key="0", kind="FloatStorage", offset=0):
    storage = b"(" + text("storage") + b"ctorch\n" + kind.encode() + b"\n"
    storage += text(key) + text("cpu") + whole(6) + b"tQ"
    hooks = b"ccollections\nOrderedDict\n)R"
    arguments = (
        storage + whole(offset) + sizes(shape) + sizes(strides) + b"\x89" + hooks
    )
    return b"ctorch._utils\n_rebuild_tensor_v2\n(" + arguments + b"tR"


def named(**values):
    items = b"".join(text(name) + value for name, value in values.items())
    return b"\x80\x02}(" + items + b"u."


@pytest.fixture
def archive(tmp_path):
    def write(program, *, numbers=None, name="x/data.pkl"):
        path = tmp_path / "x.pt"
        held = np.arange(6, dtype=np.float32) if numbers is None else numbers
        with zipfile.ZipFile(path, "w") as file:
            file.writestr(name, program)
            file.writestr("x/data/0", held.tobytes())
        return path

    return write


def test_tensors_are_read_with_shape_strides_and_offset(archive):
    program = named(
        a=tensor((2, 3), (3, 1)),
        b=tensor((3, 2), (1, 3)),
        c=tensor((), (), offset=4),
        d=tensor((0, 3), (3, 1)),
    )
    found = read_tensors(archive(program))
    assert found["a"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert found["b"].tolist() == [[0, 3], [1, 4], [2, 5]]
    assert found["c"].tolist() == 4
    assert found["d"].shape == (0, 3)
    assert found["a"].dtype == np.float32


def test_whole_numbers_are_read_as_such(archive):
    program = named(n=tensor((2,), (1,), kind="LongStorage"))
    assert read_tensors(archive(program, numbers=np.array([7, 9])))["n"].tolist() == [
        7,
        9,
    ]


def test_an_ordered_dictionary_with_metadata_is_a_dictionary(archive):
    items = text("a") + tensor((6,), (1,))
    state = b"}" + text("_metadata") + b"}s"
    program = b"\x80\x02ccollections\nOrderedDict\n)R(" + items + b"u" + state + b"b."
    assert list(read_tensors(archive(program))) == ["a"]


class Harmful:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


@pytest.mark.parametrize("protocol", range(6))
def test_a_pickle_that_would_write_a_file_writes_none(archive, tmp_path, protocol):
    target = tmp_path / "written"
    path = archive(pickle.dumps({"a": Harmful(target)}, protocol=protocol))
    with pytest.raises(DataFormatError, match="not a plain archive of tensors"):
        read_tensors(path)
    assert not target.exists()


CHECKPOINT = (
    b"ctyping\nAny\n)\x81}" + text("a") + b"Nsb",  # an object and its attributes
    b"](K\x01K\x02e",
    b"]K\x01a",
    b"G" + struct.pack(">d", 0.5),
    b"ccollections\ndefaultdict\n(c__builtin__\nlist\ntR(K\x01K\x02u",
    b"}(K\x01K\x02u",  # a dictionary with other keys
    b"cos\nsystem\n(" + text("exit 1") + b"tR",
)


@pytest.mark.parametrize("other", CHECKPOINT)
def test_tensors_of_a_checkpoint_are_read_beside_anything(archive, other):
    inner = b"}" + text("a") + tensor((2, 3), (3, 1)) + b"s"
    found = read_tensors(
        archive(named(before=other, state=inner, after=other)), member="state"
    )
    assert list(found) == ["a"]
    assert found["a"].tolist() == [[0, 1, 2], [3, 4, 5]]


@pytest.mark.parametrize("protocol", range(6))
def test_a_checkpoint_that_would_write_a_file_writes_none(archive, tmp_path, protocol):
    target = tmp_path / "written"
    content = {"state": {}, "a": Harmful(target)}
    try:
        assert (
            read_tensors(archive(pickle.dumps(content, protocol)), member="state") == {}
        )
    except DataFormatError as error:
        assert "not a plain archive of tensors" in str(error)  # noqa: PT017
    assert not target.exists()


@pytest.mark.parametrize(
    "program",
    [named(other=b"}"), named(state=b"N"), named(state=CHECKPOINT[0]), b"N.", b"]."],
)
def test_a_checkpoint_without_the_dictionary_is_refused(archive, program):
    with pytest.raises(DataFormatError, match="expected a dictionary of tensors"):
        read_tensors(archive(program), member="state")


STORAGE = b"(" + text("storage") + b"ctorch\nFloatStorage\n" + text("0") + b"tQ"


@pytest.mark.parametrize(
    ("program", "problem"),
    [
        (b"cos\nsystem\n(" + text("true") + b"tR.", "it calls 'os.system'"),
        (b"cbuiltins\neval\n(" + text("1") + b"tR.", "it calls 'builtins.eval'"),
        (
            b"ctorch._utils\n_rebuild_tensor\n)R.",
            "calls 'torch._utils._rebuild_tensor'",
        ),
        (b"ccollections\nOrderedDict\n(]tR.", "the instruction EMPTY_LIST"),
        (b"ccollections\nOrderedDict\n((ttR.", "it calls 'collections.OrderedDict'"),
        (b"(ios\nsystem\n.", "the instruction INST"),
        (b"(cos\nsystem\no.", "the instruction OBJ"),
        (b"cos\nsystem\n)\x81.", "the instruction NEWOBJ"),
        (b"\x8c\x02os\x8c\x06system\x93.", "the instruction STACK_GLOBAL"),
        (b"\x82\x01.", "the instruction EXT1"),
        (b"S'\\ '\n.", "the instruction STRING"),  # with an escape that Python warns of
        (b"cos\nsystem\n}b.", "state of something that is not a dictionary"),
        (b"cos\nsystem\n}" + text("a") + b"Ns.", "its program is damaged"),
        (
            b"cos\nsystem\n" + text("a") + b"Ns.",
            "items of something that is not a dict",
        ),
        (b"}(" + whole(1) + b"Nu.", "keys that are not strings"),
        (text("a") + b"Q.", "something other than a storage"),
        (b"Pa\n.", "the instruction PERSID"),
        (b"(" + text("storage") + b"cos\nsystem\n" + text("0") + b"tQ.", "'os system'"),
        (b"}}R.", "something that is not a function"),
        (b"h\x05.", "its program is damaged"),
        (b"t.", "its program is damaged"),
        (b"}", "its program is damaged"),
        (b"N.", "found something else"),
        (named(a=tensor((7,), (1,))), "beyond its values"),
        (named(a=tensor((2,), (1 << 30,))), "beyond its values"),
        (named(a=tensor((1 << 30, 1 << 30), (0, 0))), "beyond its values"),
        (named(a=tensor((2,), (-1,), offset=3)), "invalid shape"),
        (named(a=tensor((-2,), (1,))), "invalid shape"),
        (named(a=tensor((2, 2), (1,))), "invalid shape"),
        (named(a=tensor((1,), (1,), key="../../etc")), "'../../etc' are missing"),
        (named(a=tensor((1,), (1,), kind="QUInt8Storage")), "'torch QUInt8Storage'"),
        (b"ctorch._utils\n_rebuild_tensor_v2\n(Nt)R.", "something that is not a funct"),
        (b"ctorch._utils\n_rebuild_tensor_v2\n(NtR.", "described in an unknown way"),
        (
            b"ctorch._utils\n_rebuild_tensor_v2\n(" + STORAGE + b"K\x00NNtR.",
            "its program is damaged",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_other_programs_are_refused(archive, program, problem):
    with pytest.raises(DataFormatError) as caught:
        read_tensors(archive(program))
    assert problem in str(caught.value)
    assert str(caught.value).startswith(str(archive(program)))


def test_files_that_are_no_archive_are_refused(tmp_path, archive):
    with pytest.raises(MissingFileError, match="no such file"):
        read_tensors(tmp_path / "none.pt")
    plain = tmp_path / "plain.pt"
    plain.write_bytes(b"no zip at all")
    with pytest.raises(DataFormatError, match="not a PyTorch archive"):
        read_tensors(plain)
    with pytest.raises(DataFormatError, match=r"one entry data\.pkl, found 0"):
        read_tensors(archive(named(), name="x/other"))


def test_numbers_that_end_early_are_refused(archive):
    program = named(a=tensor((1,), (1,)))
    with pytest.raises(DataFormatError, match="missing or damaged"):
        read_tensors(archive(program, numbers=np.zeros(3, dtype=np.uint8)))
