"""A journal that cannot be fooled: a little of every attack (`journal_attacks` runs them in full)."""

import sys

import pytest
from hostile import journal_attacks

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs fork and SIGKILL")


@pytest.mark.parametrize(("writers", "count"), [(2, 60), (4, 30)])
def test_what_processes_tell_at_the_same_moment_is_kept_once(tmp_path, writers, count):
    found = journal_attacks.race(writers, count, tmp_path)
    own = sum(number % 3 != 2 for number in range(count))
    assert found["acknowledged"] == own * writers + (count - own)
    assert not any(found[what] for what in ("lost", "doubled", "unreadable", "won by none or several"))


def test_no_bit_of_a_file_flips_silently(tmp_path):
    found = journal_attacks.flip(150, tmp_path)
    assert set(found) <= {"flips", "refused", "warned"}


def test_no_edit_is_accepted_and_none_is_anything_but_a_journal_error(tmp_path):
    found = journal_attacks.edit(40, tmp_path)
    assert set(found) == {"lines refused", "events refused", "checked lines refused"}
    assert found["events refused"] >= 200


def test_a_process_that_is_killed_loses_nothing_and_leaves_no_lock(tmp_path):
    found = journal_attacks.kill(12, tmp_path)
    assert found["acknowledged"] > 0
    assert not found["lost"]
    assert not found["still locked"]
