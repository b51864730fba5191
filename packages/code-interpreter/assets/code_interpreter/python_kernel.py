"""Python: a Jupyter kernel, talked to over sockets of files, which a fork of the sandbox copies with everything else."""

import asyncio
import json
import os
import shutil
import signal
import sys
import tempfile

from jupyter_client.asynchronous import AsyncKernelClient
from jupyter_client.manager import AsyncKernelManager

from . import events
from .kernel import Kernel, KernelDied, go_first, how_ended
from .limits import START_SECONDS

KERNEL_PATH = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "kernel")
HOOK = '__import__("code_interpreter_kernel")'


class PythonKernel(Kernel):
    async def start(self, cwd, environment):
        directory = tempfile.mkdtemp(prefix="python-kernel-")
        self._directory = directory
        self._manager = AsyncKernelManager(transport="ipc", connection_file=os.path.join(directory, "connection.json"))
        self._manager.ip = os.path.join(directory, "socket")
        self._manager.cache_ports = False
        self._manager.kernel_spec.argv[:] = [
            sys.executable,
            "-Xfrozen_modules=off",
            os.path.join(KERNEL_PATH, "start.py"),
            "-f",
            "{connection_file}",
        ]
        await self._manager.start_kernel(cwd=cwd, env=environment, extra_arguments=[])
        go_first(self._manager.provisioner.pid)
        self._client = self._manager.client()
        self._client.start_channels(shell=True, iopub=True, stdin=False, hb=False, control=True)
        try:
            async with asyncio.timeout(START_SECONDS):
                await self._client.wait_for_ready(timeout=START_SECONDS)
        except (RuntimeError, TimeoutError) as problem:
            raise KernelDied(str(problem)) from problem

    async def warm(self):
        await self._silently("None")

    async def run(self, code, env_vars):
        if env_vars:
            await self._silently(f"{HOOK}.set_environment({json.dumps(json.dumps(env_vars))})")
        try:
            async for event in self._cell(code):
                yield event
        finally:
            if env_vars and await self._manager.is_alive():
                await self._silently(f"{HOOK}.reset_environment()")

    async def _silently(self, code):
        message = self._client.execute(code, silent=True, store_history=False, allow_stdin=False)
        async for _ in self._events_of(message):
            pass

    async def _cell(self, code):
        message = self._client.execute(code, silent=False, store_history=True, allow_stdin=False, stop_on_error=True)
        async for event in self._events_of(message):
            yield event

    async def _events_of(self, message):
        """Until the kernel is idle after the cell, or, should that word be missing, some time after its reply."""
        reply = asyncio.ensure_future(self._reply(message))
        try:
            async for kind, content in self._published(message, reply):
                for event in translate(kind, content):
                    yield event
            if reply.done() and not reply.cancelled() and reply.exception() is None:
                for event in pages(reply.result()):
                    yield event
        finally:
            reply.cancel()

    async def _published(self, message, reply):
        late = None
        while True:
            try:
                received = await asyncio.wait_for(self._client.iopub_channel.get_msg(timeout=None), 0.5)
            except (TimeoutError, asyncio.TimeoutError):
                if not await self._manager.is_alive():
                    raise KernelDied(how_ended(self._exit_code())) from None
                if reply.done():
                    late = (late or 0) + 1
                    if late > 4:
                        return
                continue
            if received["parent_header"].get("msg_id") != message:
                # Threads of earlier cells print too: that is said where somebody listens.
                if received["msg_type"] != "stream":
                    continue
            if received["msg_type"] == "status" and received["content"]["execution_state"] == "idle":
                await asyncio.wait({reply}, timeout=2)
                return
            yield received["msg_type"], received["content"]

    async def _reply(self, message):
        while True:
            received = await self._client.shell_channel.get_msg(timeout=None)
            if received["parent_header"].get("msg_id") == message:
                return received["content"]

    def _exit_code(self):
        process = getattr(self._manager.provisioner, "process", None)
        return process.poll() if process is not None else None

    async def interrupt(self):
        await self._manager.interrupt_kernel()

    async def kill(self):
        if self._manager.has_kernel:
            await self._manager.signal_kernel(signal.SIGKILL)

    async def stop(self):
        client, manager = getattr(self, "_client", None), getattr(self, "_manager", None)
        if client is not None:
            client.stop_channels()
        if manager is not None and manager.has_kernel:
            await manager.shutdown_kernel(now=True)
        shutil.rmtree(getattr(self, "_directory", ""), ignore_errors=True)


def translate(kind, content):
    """The events that one message of a kernel stands for. Pure."""
    if kind == "stream":
        yield from events.output("stderr" if content["name"] == "stderr" else "stdout", content["text"])
    elif kind == "execute_result":
        yield events.result(content["data"], True)
    elif kind in ("display_data", "update_display_data"):
        yield events.result(content["data"], False)
    elif kind == "error":
        yield events.error(content["ename"], content["evalue"], "\n".join(content["traceback"]))
    elif kind == "execute_input":
        yield events.count(content["execution_count"])


def pages(reply):
    """What a cell asked to be shown in a pager, such as `len?`."""
    for page in reply.get("payload", []):
        if page.get("source") == "page":
            yield events.result(page["data"], False)
