"""Contexts: each a kernel with what its cells defined."""

import asyncio
import os
import uuid

from . import events
from .kernel import KernelDied
from .limits import CONTEXTS, INTERRUPT_SECONDS
from .pipe_kernel import BashKernel, JavaScriptKernel

LANGUAGES = {
    "python": "python",
    "python3": "python",
    "py": "python",
    "javascript": "javascript",
    "js": "javascript",
    "node": "javascript",
    "typescript": "typescript",
    "ts": "typescript",
    "bash": "bash",
    "sh": "bash",
    "shell": "bash",
}


class Refused(Exception):
    """A request that is not carried out. `status`: of the answer."""

    def __init__(self, status, message):
        super().__init__(message)
        self.status = status


def language_of(name):
    """The language that a request names; Python when it names none."""
    if name is None or name == "":
        return "python"
    language = LANGUAGES.get(name.strip().lower())
    if language is None:
        raise Refused(400, f"The language {name[:50]!r} is not known. There are python, javascript, typescript and bash.")
    return language


def make_kernel(language):
    if language == "python":
        from .python_kernel import PythonKernel

        return PythonKernel()
    return BashKernel() if language == "bash" else JavaScriptKernel(typescript=language == "typescript")


class Cell:
    """Code to be run, and who wants to know of it. `send` takes an event and returns when there is room for the next."""

    def __init__(self, code, env_vars, send):
        self.code = code
        self.env_vars = env_vars
        self.send = send
        # Set when nobody listens any more: the cell is interrupted.
        self.gone = asyncio.Event()


class Context:
    def __init__(self, language, cwd):
        self.id = str(uuid.uuid4())
        self.language = language
        self.cwd = cwd
        self._kernel = None
        self._turn = asyncio.Lock()
        self._notice = None
        self._removed = False

    def to_wire(self):
        return {"id": self.id, "language": self.language, "cwd": self.cwd}

    async def start(self, environment, warm=False):
        self._environment = {name: value for name, value in environment.items() if name != "CODE_INTERPRETER_WARM"}
        kernel = make_kernel(self.language)
        try:
            await kernel.start(self.cwd, environment)
            if warm:
                await kernel.warm()
        except BaseException:
            await kernel.stop()
            raise
        self._kernel = kernel

    async def run(self, cell):
        """Runs a cell when those before it have ended."""
        async with self._turn:
            if cell.gone.is_set():
                return
            if self._removed:
                raise Refused(404, f"Context {self.id} not found")
            if self._kernel is None:
                await self._start_again()
            if self._notice is not None:
                for event in events.output("stderr", self._notice):
                    await cell.send(event)
                self._notice = None
            watch = asyncio.ensure_future(self._interrupt_when_gone(cell))
            try:
                async for event in self._kernel.run(cell.code, cell.env_vars):
                    if not cell.gone.is_set():
                        await cell.send(event)
                await cell.send(events.ended())
            except KernelDied as death:
                await self._drop()
                lost = "Its variables are lost; the next cell gets a new one."
                if cell.gone.is_set():
                    self._notice = f"The kernel ended while its last cell was interrupted ({death.how}). {lost}\n"
                elif self.language == "bash" and death.code is not None:
                    # `exit`, or a failure under `set -e`: as a script ends.
                    for event in events.output("stderr", f"The shell ended. {lost}\n"):
                        await cell.send(event)
                    if death.code != 0:
                        await cell.send(events.error("ExitStatus", death.how, ""))
                    await cell.send(events.ended())
                else:
                    await cell.send(events.error("KernelDied", f"The kernel ended: {death.how}. {lost}", ""))
                    await cell.send(events.ended(expected=False))
            finally:
                watch.cancel()

    async def _interrupt_when_gone(self, cell):
        await cell.gone.wait()
        kernel = self._kernel
        for _ in range(int(INTERRUPT_SECONDS)):
            await kernel.interrupt()
            await asyncio.sleep(1)
        await kernel.kill()

    async def restart(self):
        """A new kernel, without what was defined. A cell that runs ends with the old one."""
        kernel = self._kernel
        if kernel is not None:
            await kernel.kill()
        async with self._turn:
            if self._removed:
                raise Refused(404, f"Context {self.id} not found")
            await self._drop()
            self._notice = None
            await self._start_again()

    async def remove(self):
        self._removed = True
        if self._kernel is not None:
            await self._kernel.kill()
        async with self._turn:
            await self._drop()

    async def _start_again(self):
        try:
            await self.start(self._environment)
        except KernelDied as death:
            raise Refused(500, f"The kernel of the context does not start: {death.how}") from death

    async def _drop(self):
        kernel, self._kernel = self._kernel, None
        if kernel is not None:
            await kernel.stop()


class Contexts:
    """All of a sandbox. Each language has one that serves cells that name none, made when it is first needed."""

    def __init__(self, environment):
        self._environment = environment
        self._all = {}
        self._defaults = {}
        self._starting = 0

    def list(self):
        return [context.to_wire() for context in self._all.values()]

    def get(self, identifier):
        context = self._all.get(identifier)
        if context is None:
            raise Refused(404, f"Context {identifier[:100]} not found")
        return context

    async def create(self, language, cwd=None, warm=False):
        cwd = cwd or os.environ.get("HOME") or "/"
        if not os.path.isdir(cwd) or not os.access(cwd, os.X_OK):
            raise Refused(400, f"The directory {cwd[:500]!r} does not exist, or cannot be entered. Make it first.")
        if len(self._all) + self._starting >= CONTEXTS:
            raise Refused(429, f"Context limit reached ({CONTEXTS} of {CONTEXTS}). Remove one that is not needed.")
        context = Context(language, cwd)
        self._starting += 1
        try:
            await context.start({**self._environment, **({"CODE_INTERPRETER_WARM": "1"} if warm else {})}, warm)
        except KernelDied as death:
            raise Refused(500, f"The kernel of a new context does not start: {death.how}") from death
        finally:
            self._starting -= 1
        self._all[context.id] = context
        return context

    async def default(self, language, warm=False):
        """The context of a language, made once however many ask."""
        making = self._defaults.get(language)
        if making is None:
            making = self._defaults[language] = asyncio.ensure_future(self.create(language, warm=warm))
            making.add_done_callback(lambda done: self._forget_failed(language, done))
        return await asyncio.shield(making)

    def _forget_failed(self, language, done):
        if (done.cancelled() or done.exception() is not None) and self._defaults.get(language) is done:
            del self._defaults[language]

    async def remove(self, identifier):
        context = self.get(identifier)
        del self._all[identifier]
        making = self._defaults.get(context.language)
        if making is not None and making.done() and making.result() is context:
            del self._defaults[context.language]
        await context.remove()
