"""Kernels that are plain processes: cells go in over one pipe, events come over another, output over its own two."""

import asyncio
import codecs
import json
import os
import shlex
import signal

from . import events
from .kernel import Kernel, KernelDied, go_first, how_ended
from .limits import START_SECONDS

KERNEL_PATH = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "kernel")
CHUNK = 64 * 1024
# An event is one line; a kernel that sends a longer one is not ours any more.
LONGEST_EVENT = 64 * 1024 * 1024


class PipeKernel(Kernel):
    """Subclasses say what to start, how a cell is handed over, and what an event of the process means."""

    _process = None

    def command(self, event):
        """Program and arguments. `event`: number of the file that takes its events, one line of JSON each."""
        raise NotImplementedError

    def cell(self, code, env_vars):
        """The bytes that make the process run a cell."""
        raise NotImplementedError

    def interrupt_line(self):
        """The bytes that ask the process to stop its cell, beside the signal."""
        return b""

    async def start(self, cwd, environment):
        self._count = 0
        self._exit_code = None
        (self._out, out), (self._err, err), (self._events, event) = (os.pipe() for _ in range(3))
        command_in, self._input = os.pipe()
        try:
            for fd in (self._out, self._err, self._events, self._input):
                os.set_blocking(fd, False)
            self._process = await asyncio.create_subprocess_exec(
                *self.command(event),
                stdin=command_in,
                stdout=out,
                stderr=err,
                pass_fds=(event,),
                cwd=cwd,
                env=environment,
                start_new_session=True,
            )
        finally:
            for fd in (out, err, event, command_in):
                os.close(fd)
        go_first(self._process.pid)
        self._exited = asyncio.ensure_future(self._process.wait())
        self._decoders = {fd: codecs.getincrementaldecoder("utf-8")("replace") for fd in (self._out, self._err)}
        self._buffer = b""
        try:
            async with asyncio.timeout(START_SECONDS):
                async for _ in self._until_end():
                    pass
        except TimeoutError as problem:
            raise KernelDied(f"not ready within {START_SECONDS:.0f} s") from problem

    async def warm(self):
        async for _ in self.run("true", {}):
            pass
        self._count = 0

    async def run(self, code, env_vars):
        self._count += 1
        yield events.count(self._count)
        sending = asyncio.ensure_future(self._send(self.cell(code, env_vars)))
        try:
            async for event in self._until_end():
                yield event
        finally:
            sending.cancel()

    async def _send(self, data):
        view = memoryview(data)
        while view:
            try:
                view = view[os.write(self._input, view) :]
            except BlockingIOError:
                await self._ready(writing=True)
            except BrokenPipeError:
                return

    async def _until_end(self):
        """Events and output until the process says that its cell has ended."""
        while True:
            await self._ready()
            died = self._exited.done()
            for event in self._printed():
                yield event
            ended = False
            for message in self._messages():
                ended = ended or message.get("type") == "end"
                if message.get("type") == "exit":
                    self._exit_code = message.get("code")
                event = self.translate(message)
                if event is not None:
                    yield event
            if ended or died:
                # What the cell printed was in the pipe before it said that it ended.
                while True:
                    rest = list(self._printed())
                    for event in rest:
                        yield event
                    if not rest:
                        break
                if ended:
                    return
                code = self._process.returncode if self._exit_code is None else self._exit_code
                raise KernelDied(how_ended(code), code)

    def translate(self, message):
        """The event of a message of the process, none for what is not for clients."""
        kind = message.get("type")
        if kind == "result" and isinstance(message.get("data"), dict):
            return events.result(message["data"], message.get("main") is True)
        if kind == "error":
            return events.error(*(str(message.get(field, "")) for field in ("name", "value", "traceback")))
        return None

    def _printed(self):
        for fd, kind in ((self._out, "stdout"), (self._err, "stderr")):
            data = self._read(fd)
            if data:
                yield from events.output(kind, self._decoders[fd].decode(data))

    def _messages(self):
        while data := self._read(self._events):
            self._buffer += data
            if len(self._buffer) > LONGEST_EVENT:
                self._buffer = b""
                raise KernelDied("an event that does not end")
        *lines, self._buffer = self._buffer.split(b"\n")
        for line in lines:
            try:
                message = json.loads(line)
            except ValueError:
                continue
            if isinstance(message, dict):
                yield message

    @staticmethod
    def _read(fd):
        try:
            return os.read(fd, CHUNK)
        except BlockingIOError:
            return b""

    async def _ready(self, writing=False):
        """Waits until there is something to read, or room to write, or the process is gone."""
        loop = asyncio.get_running_loop()
        ready = loop.create_future()

        def wake(*_):
            if not ready.done():
                ready.set_result(None)

        if writing:
            loop.add_writer(self._input, wake)
        else:
            for fd in (self._out, self._err, self._events):
                loop.add_reader(fd, wake)
        self._exited.add_done_callback(wake)
        try:
            await ready
        finally:
            self._exited.remove_done_callback(wake)
            if writing:
                loop.remove_writer(self._input)
            else:
                for fd in (self._out, self._err, self._events):
                    loop.remove_reader(fd)

    async def interrupt(self):
        await self._send(self.interrupt_line())
        self._signal(signal.SIGINT)

    async def kill(self):
        if self._process is not None:
            self._signal(signal.SIGKILL)

    async def stop(self):
        if self._process is None:
            return
        await self.kill()
        await self._exited
        for fd in (self._out, self._err, self._events, self._input):
            os.close(fd)
        self._process = None

    def _signal(self, number):
        try:
            os.killpg(self._process.pid, number)
        except ProcessLookupError:
            pass


class JavaScriptKernel(PipeKernel):
    def __init__(self, typescript=False):
        self._typescript = typescript

    def command(self, event):
        script = os.path.join(KERNEL_PATH, "javascript.mjs")
        return ["node", "--disable-warning=ExperimentalWarning", script, str(event)]

    def cell(self, code, env_vars):
        return json.dumps({"code": code, "typescript": self._typescript, "env": env_vars}).encode() + b"\n"

    def interrupt_line(self):
        return b'{"interrupt":true}\n'


class BashKernel(PipeKernel):
    """An interactive shell without a terminal: an interrupt ends its cell and not the shell. Each prompt ends a cell."""

    async def start(self, cwd, environment):
        await super().start(cwd, {**environment, "HISTFILE": ""})
        # Told once it runs, for an interactive shell sets its prompts itself.
        await self._send(b"PS1= PS2= PS4='+ '; set +H\n")
        async for _ in self._until_end():
            pass

    def command(self, event):
        tell = f'printf "{{\\"type\\":\\"end\\",\\"status\\":%d}}\\n" "$?" >&{event}'
        return ["env", f"PROMPT_COMMAND={tell}", "bash", "--norc", "--noprofile", "--noediting", "-i"]

    def cell(self, code, env_vars):
        text = code.replace("\0", "").encode("utf-8", "replace").decode()
        line = f"eval {shlex.quote(text)} </dev/null\n"
        if env_vars:
            # What they were before is remembered, and put back before the next cell, however this one ends.
            names = " ".join(env_vars)
            values = " ".join(f"{name}={shlex.quote(value)}" for name, value in env_vars.items())
            keep = f'for __name in {names}; do declare -p "$__name" 2>/dev/null || echo "unset $__name"; done'
            line = f"__kept=$({keep}); export {values}; {line}"
        return f'eval "${{__kept-}}"; unset __kept; {line}'.encode()

    def translate(self, message):
        status = message.get("status", 0)
        if message.get("type") == "end" and status not in (0, None):
            if status == 130:
                return events.error("KeyboardInterrupt", "the cell was interrupted", "")
            return events.error("ExitStatus", f"exit status {status}", "")
        return None
