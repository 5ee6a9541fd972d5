"""What a process may not do any more: write where it has no permission, or files beyond a size.

No file is closed to root, so a process that tests what a user may not do gives root's privileges up.
"""

from __future__ import annotations

import ctypes
import os
import resource

# _LINUX_CAPABILITY_VERSION_3 of <linux/capability.h>, and two sets of three masks that allow nothing.
HEADER = (ctypes.c_uint32 * 2)(0x20080522, 0)
NOTHING = (ctypes.c_uint32 * 6)()


def give_up() -> None:
    """Make this process obey file permissions, as one of any other user does."""
    if os.getuid() == 0 and ctypes.CDLL(None, use_errno=True).capset(HEADER, NOTHING) != 0:
        raise OSError(ctypes.get_errno(), "capset failed")


def limit_files(size: int) -> None:
    """Let this process write no file beyond `size` bytes, as if the disk were full, and not to what is protected."""
    give_up()
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
