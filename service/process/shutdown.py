"""Whether the process is going down: its server says so, the envelope acts on it, and a lost device begins it."""

from __future__ import annotations

import os
import signal


class Draining:
    """Whether the process is going down: the server says so once, and from then on no new request is served."""

    def __init__(self) -> None:
        self.begun = False
        self.failed = False  # it ends because it cannot go on, and whoever started it should start another

    def fail(self) -> None:
        """End this process, as after SIGTERM, but with an exit code that tells of a failure. Safe in any thread."""
        if self.failed:  # several find out at once, and a second signal would cut off what is under way
            return
        self.failed = True
        os.kill(os.getpid(), signal.SIGTERM)
