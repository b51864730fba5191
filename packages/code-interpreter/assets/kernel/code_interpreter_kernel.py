"""The kernel's side: what a cell shows, as data too, and output that waits for who reads it."""

import json
import os
import sys

import zmq
from ipykernel.iostream import OutStream
from ipykernel.kernelapp import IPKernelApp
from IPython.core.formatters import JSONFormatter
from traitlets import ObjectName, Unicode

CHART = "application/vnd.code-interpreter.chart+json"
DATA = "application/vnd.code-interpreter.data+json"
# A table with more cells, or a chart with more points, is shown as text or image alone.
MOST_VALUES = 100_000
# Characters that a cell may print before it waits until they are sent.
UNSENT = 256 * 1024

_replaced = None


def run():
    app = IPKernelApp.instance()
    app.initialize()
    # A queue that is full makes its sender wait: nothing of what cells print is dropped.
    app.iopub_thread.socket.setsockopt(zmq.XPUB_NODROP, 1)
    wait_for_readers()
    formatters = app.shell.display_formatter.formatters
    for mime, package, name, show in (
        (CHART, "matplotlib.figure", "Figure", chart_of),
        (DATA, "pandas.core.frame", "DataFrame", data_of),
        (DATA, "pandas", "DataFrame", data_of),
    ):
        formatter = formatters.get(mime) or ValueFormatter(parent=app.shell.display_formatter, format_type=mime)
        formatter.for_type_by_name(package, name, show)
        formatters[mime] = formatter
    app.shell.display_formatter.active_types = list(formatters)
    warm(app.shell)
    app.start()


class ValueFormatter(JSONFormatter):
    """Gives what the function of a type gives, as it is."""

    format_type = Unicode("")
    print_method = ObjectName("_repr_none_")

    def _check_return(self, r, obj):
        return r

    def pop(self, typ, default=None):
        # The backend of matplotlib takes figures away from every formatter, to set those for images anew.
        return default


def wait_for_readers():
    """Makes cells wait while what they print is not sent: without it, an endless loop of print fills the memory."""
    write = OutStream.write

    def write_and_wait(self, text):
        written = write(self, text)
        self._unsent_characters = getattr(self, "_unsent_characters", 0) + len(text)
        if self._unsent_characters >= UNSENT:
            self._unsent_characters = 0
            self.flush()
        return written

    OutStream.write = write_and_wait


def warm(shell):
    """Imports what most cells import, where there is memory: into the module cache, not into the names of cells."""
    if os.environ.get("CODE_INTERPRETER_WARM") != "1":
        return
    import matplotlib.pyplot  # noqa: F401
    import numpy  # noqa: F401
    import pandas  # noqa: F401

    try:
        raise ValueError
    except ValueError:
        shell.InteractiveTB.structured_traceback(*sys.exc_info())


def chart_of(figure):
    try:
        from code_interpreter_charts import chart

        return chart(figure, MOST_VALUES)
    except Exception:
        # A chart that cannot be read is shown as an image.
        return None


def data_of(frame):
    try:
        if frame.size > MOST_VALUES:
            return None
        return json.loads(frame.to_json(orient="split", date_format="iso", default_handler=str), object_hook=columns)
    except Exception:
        return None


def columns(split):
    """A list of values for each column. Pure."""
    if set(split) != {"columns", "index", "data"}:
        return split
    names = [name if isinstance(name, str) else json.dumps(name) for name in split["columns"]]
    return {name: [row[at] for row in split["data"]] for at, name in enumerate(names)}


def set_environment(text):
    """Variables for one cell."""
    global _replaced
    variables = json.loads(text)
    _replaced = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)


def reset_environment():
    global _replaced
    for name, value in (_replaced or {}).items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
    _replaced = None
