"""The server: its routes, and what requests must look like."""

import asyncio
import json
import os
import re

import tornado.web
from tornado.iostream import StreamClosedError

from . import events
from .contexts import Cell, Contexts, Refused, language_of
from .limits import PORT, REQUEST_BYTES


class Handler(tornado.web.RequestHandler):
    @property
    def contexts(self):
        return self.application.settings["contexts"]

    def body(self):
        """The fields of the request. Nothing is an empty object."""
        try:
            fields = json.loads(self.request.body or b"{}")
        except (ValueError, RecursionError):
            raise Refused(400, "The body is not JSON.") from None
        if not isinstance(fields, dict):
            raise Refused(400, "The body is not an object.")
        return fields

    def text(self, fields, name):
        value = fields.get(name)
        if value is not None and not isinstance(value, str):
            raise Refused(400, f"{name} is not a text.")
        return value

    def log_exception(self, kind, error, trace):
        if not isinstance(error, Refused):
            super().log_exception(kind, error, trace)

    def write_error(self, status, **details):
        error = details.get("exc_info", (None, None))[1]
        self.set_header("Content-Type", "text/plain; charset=utf-8")
        if isinstance(error, Refused):
            self.set_status(error.status)
            self.finish(str(error))
        else:
            self.finish(self._reason)


class Health(Handler):
    async def get(self):
        self.finish("OK")


class ContextList(Handler):
    async def get(self):
        self.finish(json.dumps(self.contexts.list()))

    async def post(self):
        fields = self.body()
        context = await self.contexts.create(language_of(self.text(fields, "language")), self.text(fields, "cwd"))
        self.set_status(201)
        self.finish(context.to_wire())


class OneContext(Handler):
    async def delete(self, identifier):
        await self.contexts.remove(identifier)
        self.set_status(204)


class Restart(Handler):
    async def post(self, identifier):
        await self.contexts.get(identifier).restart()
        self.set_status(204)


class Execute(Handler):
    cell = None

    async def post(self):
        fields = self.body()
        code = self.text(fields, "code")
        if code is None:
            raise Refused(400, "code is missing.")
        identifier, language = self.text(fields, "context_id"), self.text(fields, "language")
        if identifier and language:
            raise Refused(400, "Give context_id or language, not both.")
        cell = self.cell = Cell(code, variables(fields.get("env_vars")), self.send)
        if identifier:
            context = self.contexts.get(identifier)
        else:
            context = await self.contexts.default(language_of(language))
        self.set_header("Content-Type", "application/x-ndjson; charset=utf-8")
        self.set_header("Cache-Control", "no-store")
        await context.run(cell)

    async def send(self, event):
        try:
            self.write(events.encode(event))
            await self.flush()
        except StreamClosedError:
            self.cell.gone.set()

    def on_connection_close(self):
        if self.cell is not None:
            self.cell.gone.set()


def variables(given):
    """Variables of one cell. Pure."""
    if given is None:
        return {}
    if not isinstance(given, dict):
        raise Refused(400, "env_vars is not an object.")
    for name, value in given.items():
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
            raise Refused(400, f"env_vars has the name {name[:50]!r}: letters, digits and _ are possible.")
        if not isinstance(value, str) or "\0" in value:
            raise Refused(400, f"env_vars.{name} is not a text.")
    return given


async def serve():
    contexts = Contexts({**os.environ, "PYTHONUNBUFFERED": "1"})
    application = tornado.web.Application(
        [
            (r"/health", Health),
            (r"/execute", Execute),
            (r"/contexts", ContextList),
            (r"/contexts/([^/]+)", OneContext),
            (r"/contexts/([^/]+)/restart", Restart),
        ],
        contexts=contexts,
        log_function=lambda _: None,
    )
    await asyncio.gather(*(contexts.default(language, warm=True) for language in ("python", "javascript", "bash")))
    application.listen(PORT, "127.0.0.1", max_body_size=REQUEST_BYTES, max_buffer_size=REQUEST_BYTES + 65536)
    await asyncio.Event().wait()


def main():
    asyncio.run(serve())
