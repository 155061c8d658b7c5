"""Files are read with clear errors, and written whole or not at all."""

import os
import stat

import pytest

from sfumato.errors import InputError, RunError
from sfumato.files import check_writable, read_bytes, read_json, write_text, written_whole


def names(folder):
    return sorted(p.name for p in folder.iterdir())


# ------------------------------------------------------------------ writing


def test_a_file_takes_its_name_when_it_is_complete(tmp_path):
    """Until the block ends the target is as it was; afterwards it holds the new text and nothing else is left."""
    target = tmp_path / "t.txt"
    write_text(target, "old")
    with written_whole(target) as beside:
        beside.write_text("new ü")
        assert target.read_text() == "old"
        assert beside.parent == tmp_path
    assert target.read_text() == "new ü"
    assert names(tmp_path) == ["t.txt"]


def write_and_raise(target, error):
    with written_whole(target) as beside:
        beside.write_text("half of the n")
        raise error


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_a_crash_inside_leaves_nothing_and_keeps_the_old_file(tmp_path, error):
    """Whatever ends the writing early, the target is untouched and the half of the new one is gone."""
    target = tmp_path / "t.txt"
    write_text(target, "old")
    with pytest.raises(error):
        write_and_raise(target, error())
    assert target.read_text() == "old"
    assert names(tmp_path) == ["t.txt"]


def test_a_full_disk_is_a_failed_run_and_leaves_nothing(tmp_path):
    """An error of the system becomes one sentence with the name of the file."""
    with pytest.raises(RunError, match=r"t\.txt could not be written: No space left on device$"):
        write_and_raise(tmp_path / "t.txt", OSError(28, "No space left on device"))
    assert names(tmp_path) == []


def test_a_new_file_has_the_permissions_of_any_new_file(tmp_path):
    """Bits follow the umask, not the private ones of a temporary file."""
    before = os.umask(0o027)
    try:
        write_text(tmp_path / "t.txt", "x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "t.txt").stat().st_mode) == 0o640


def test_a_replaced_file_keeps_its_permissions(tmp_path):
    """A file that its owner closed to others is not opened by writing it anew."""
    write_text(tmp_path / "t.txt", "x")
    (tmp_path / "t.txt").chmod(0o600)
    write_text(tmp_path / "t.txt", "y")
    assert stat.S_IMODE((tmp_path / "t.txt").stat().st_mode) == 0o600
    assert (tmp_path / "t.txt").read_text() == "y"


def test_a_place_that_cannot_take_a_file_is_said_before_any_work(tmp_path):
    """A folder, a missing folder, a device, an impossible name: one sentence each."""
    os.mkfifo(tmp_path / "pipe")
    for path, text in [
        (tmp_path, f"{tmp_path} is a folder; give the name of a file to write"),
        (tmp_path / "no" / "t.txt", f"the folder {tmp_path / 'no'} for t.txt does not exist; make it first"),
        ("/dev/null", "/dev/null is a device or a pipe; give the name of a file to write"),
        (tmp_path / "pipe", f"{tmp_path / 'pipe'} is a device or a pipe; give the name of a file to write"),
        (tmp_path / ("x" * 300), f"{tmp_path / ('x' * 300)} cannot be written: File name too long"),
    ]:
        with pytest.raises(InputError) as caught:
            check_writable(path)
        assert str(caught.value) == text


def test_a_long_name_that_the_system_takes_is_written(tmp_path):
    """The temporary name beside it is never longer than the system allows."""
    write_text(tmp_path / ("x" * 250), "here")
    assert (tmp_path / ("x" * 250)).read_text() == "here"


# ------------------------------------------------------------------ reading


def test_json_is_read_with_and_without_a_byte_order_mark(tmp_path):
    """A BOM, which some editors write, is not part of the document."""
    for raw in (b'{"a": "\xc3\xbc"}', b'\xef\xbb\xbf{"a": "\xc3\xbc"}'):
        (tmp_path / "t.json").write_bytes(raw)
        assert read_json(tmp_path / "t.json") == {"a": "ü"}


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ('{"a": 1}'.encode("utf-16"), " is not UTF-8 text; save it as UTF-8"),
        (b"\xff\x00", " is not UTF-8 text; save it as UTF-8"),
        (b"", ", line 1, column 1: Expecting value; it must be JSON"),
        (b'{"a": 1,\n "b" 2}', ", line 2, column 6: Expecting ':' delimiter; it must be JSON"),
        (b"[" * 100_000, " is nested too deeply to be a schema"),
        (b'{"a": ' * 100_000, " is nested too deeply to be a schema"),
        (b'{"a": 1, "b": 2, "a": 3}', " is not JSON that can be used: the key 'a' stands twice in one object"),
        (b'{"a": NaN}', " is not JSON that can be used: NaN is no number in JSON"),
        (b"[-Infinity]", " is not JSON that can be used: -Infinity is no number in JSON"),
    ],
)
def test_what_is_not_json_is_said_in_one_sentence(tmp_path, raw, text):
    """Encoding, syntax with its place, nesting bombs, equal keys, and numbers that are none."""
    (tmp_path / "t.json").write_bytes(raw)
    with pytest.raises(InputError) as caught:
        read_json(tmp_path / "t.json")
    assert str(caught.value) == f"{tmp_path / 't.json'}{text}"


def test_a_number_of_thousands_of_digits_is_an_error(tmp_path):
    """Python would need quadratic time for it, and refuses; so does the reader, in a sentence."""
    (tmp_path / "t.json").write_bytes(b"9" * 1_000_000)
    with pytest.raises(InputError, match="is not JSON that can be used"):
        read_json(tmp_path / "t.json")


def test_a_file_larger_than_it_may_be_is_refused(tmp_path):
    """The limit is on what is read; a file of just that size is taken."""
    (tmp_path / "t.bin").write_bytes(b"x" * 2**20)
    assert len(read_bytes(tmp_path / "t.bin", 2**20)) == 2**20
    (tmp_path / "t.bin").write_bytes(b"x" * (2**20 + 1))
    with pytest.raises(InputError, match=r"t\.bin is larger than 1 MiB, too large for what it should hold$"):
        read_bytes(tmp_path / "t.bin", 2**20)


def test_a_file_that_is_not_there_is_said_so(tmp_path):
    """Missing, a folder, or a name that cannot be: InputError in each case."""
    for path, text in [
        (tmp_path / "no.json", "does not exist"),
        (tmp_path, "is a folder; a file is needed"),
        (tmp_path / "a" / "b.json", "does not exist"),
        (f"{tmp_path}/\0", "cannot be read: embedded null byte"),
    ]:
        with pytest.raises(InputError, match=f"{text}$"):
            read_json(path)
