"""What a kernel is to a context."""

import signal


class KernelDied(Exception):
    """The process of a kernel ended. `how`: in words; `code`: its exit status, none for a signal or when it is not known."""

    def __init__(self, how, code=None):
        super().__init__(how)
        self.how = how
        self.code = code if code is not None and code >= 0 else None


class Kernel:
    """A process that runs cells, one at a time, and keeps what they define."""

    async def start(self, cwd, environment):
        """Returns when cells can be run. Raises KernelDied."""
        raise NotImplementedError

    async def warm(self):
        """Does once what the first cell would wait for. Not a cell: it is not counted."""

    def run(self, code, env_vars):
        """Gives the events of a cell as they come, none for its end. Raises KernelDied."""
        raise NotImplementedError

    async def interrupt(self):
        """Asks the cell that runs to stop."""
        raise NotImplementedError

    async def kill(self):
        """Ends the process at once: a cell that runs raises KernelDied."""
        raise NotImplementedError

    async def stop(self):
        """Ends the process and gives back what it held. Also after it died."""
        raise NotImplementedError


def go_first(pid):
    """Lets the kernel end, and not the server, when the sandbox runs out of memory."""
    try:
        with open(f"/proc/{pid}/oom_score_adj", "w") as file:
            file.write("1000")
    except OSError:
        # It is gone already, or the system has no such thing.
        pass


def how_ended(code):
    """An exit status in words."""
    if code is None:
        return "ended"
    if code >= 0:
        return f"exit status {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"
