import { readFileSync } from 'node:fs';
import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampMs } from '@bufbuild/protobuf/wkt';
import { Code, ConnectError } from '@connectrpc/connect';
import { Signal, type StreamInputRequestSchema } from '@svc/daemon/gen';
import { frame } from '@svc/support/connect-frames';
import { eventually } from '@svc/support/eventually';
import { readProcStat } from '@svc/support/process-identity';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { residentBytes, startDaemon, type TestDaemon } from '../test-daemon.js';
import { type Collected, collect, shell } from './collect.js';

let daemon: TestDaemon;
beforeAll(async () => {
  daemon = await startDaemon();
});
afterAll(() => daemon.stop());

const byPid = (pid: number) => ({ selector: { case: 'pid' as const, value: pid } });
const stdin = (text: string) => ({ input: { case: 'stdin' as const, value: Buffer.from(text) } });
const codeOf = (work: Promise<unknown>) =>
  work.then(
    () => 'success',
    (error) => Code[ConnectError.from(error).code],
  );

/** Starts and gives the pid with the rest of the stream. */
async function begin(request: Parameters<typeof daemon.client.start>[0], options = {}) {
  const stream = daemon.client.start(request, options)[Symbol.asyncIterator]();
  const first = (await stream.next()).value!.event!.event;
  if (first.case !== 'start') throw new Error('the first event is no start');
  let reading: Promise<Collected> | undefined;
  return {
    pid: first.value.pid,
    stream,
    /** The rest of the stream, read from the first look at it. */
    get rest() {
      reading ??= collect({ [Symbol.asyncIterator]: () => stream });
      return reading;
    },
  };
}

/** Bytes that a program has written; undefined when it has ended. */
function writtenBytes(pid: number): number | undefined {
  try {
    return Number(/^wchar: (\d+)$/m.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))![1]);
  } catch {
    return undefined;
  }
}

/** Growth of less is no leak: garbage waits to be collected. */
const FLAT_BYTES = 6 * 1024 * 1024;
const GROWTH_ROUNDS = 3;

/**
 * Returns the bytes that doing it again adds to the daemon's memory: the least of some rounds, for a leak adds in each of them. The
 * first time brings the heap to the size that the work needs.
 */
async function growth(work: () => Promise<void>): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  await work();
  for (let round = 0; round < GROWTH_ROUNDS && least > FLAT_BYTES; round += 1) {
    const before = residentBytes(daemon.pid);
    await work();
    least = Math.min(least, residentBytes(daemon.pid) - before);
  }
  return least;
}

describe('Start', () => {
  it('streams both outputs and the exit status', async () => {
    const run = await collect(daemon.client.start(shell('echo out; echo err >&2; exit 3')));
    expect(run).toMatchObject({ stdout: 'out\n', stderr: 'err\n' });
    expect(run.end).toMatchObject({
      exitCode: 3,
      exited: true,
      status: 'exit status 3',
      error: 'exit status 3',
    });
  });

  it('leaves error away for exit status 0', async () => {
    const { end } = await collect(daemon.client.start(shell('true')));
    expect(end).toMatchObject({ exitCode: 0, exited: true, status: 'exit status 0' });
    expect(end?.error).toBeUndefined();
  });

  it.each([
    ['KILL', 'signal: killed'],
    ['TERM', 'signal: terminated'],
    ['SEGV', 'signal: segmentation fault'],
    ['HUP', 'signal: hangup'],
  ])('reports death by SIG%s as %s', async (name, status) => {
    const { end } = await collect(daemon.client.start(shell(`kill -${name} $$`)));
    expect(end).toMatchObject({ exitCode: -1, exited: false, status, error: status });
  });

  it('ends with 127 for a program that does not exist', async () => {
    const run = await collect(daemon.client.start({ process: { cmd: 'no-such-program' } }));
    expect(run.end?.exitCode).toBe(127);
    expect(run.stderr).toContain('no-such-program');
  });

  it('ends with 126 for a file that is not executable', async () => {
    const run = await collect(daemon.client.start({ process: { cmd: '/etc/passwd' } }));
    expect(run.end?.exitCode).toBe(126);
  });

  it('lets a program reopen its outputs by name', async () => {
    const run = await collect(daemon.client.start(shell('echo a >/dev/stdout; echo b >/dev/stderr')));
    expect(run).toMatchObject({ stdout: 'a\n', stderr: 'b\n' });
  });

  it('gives the environment of the account and the request and nothing else', async () => {
    const { stdout } = await collect(
      daemon.client.start({ process: { cmd: 'env', envs: { GREETING: 'hi' } }, stdin: false }),
    );
    const names = stdout
      .trim()
      .split('\n')
      .map((line) => line.split('=')[0]);
    expect(names.sort()).toEqual(['GREETING', 'HOME', 'LOGNAME', 'PATH', 'USER']);
  });

  it('refuses a working directory that is missing, naming it', async () => {
    const run = collect(daemon.client.start({ process: { cmd: 'true', cwd: '/no/such/place' } }));
    await expect(run).rejects.toMatchObject({
      code: Code.InvalidArgument,
      message: expect.stringContaining('/no/such/place'),
    });
  });

  it('refuses a variable that no program could get, without repeating it', async () => {
    const run = collect(daemon.client.start({ process: { cmd: 'true', envs: { KEY: 'hidden\0value' } } }));
    await expect(run).rejects.toMatchObject({
      code: Code.InvalidArgument,
      message: expect.stringMatching(/^(?!.*hidden).*NUL/),
    });
  });

  it('refuses an unknown user', async () => {
    const run = collect(daemon.clientAs('who-is-that').start(shell('true')));
    await expect(run).rejects.toMatchObject({
      code: Code.Unauthenticated,
      message: expect.stringContaining('who-is-that'),
    });
  });

  it('kills the process when its time is over and keeps the end', async () => {
    const { pid, rest } = await begin(shell('exec sleep 600'), { headers: { 'Connect-Timeout-Ms': '2000' } });
    expect(await codeOf(rest)).toBe('DeadlineExceeded');
    const late = await collect(daemon.client.connect({ process: byPid(pid) }));
    expect(late.end?.status).toBe('signal: killed');
  });

  /** The process ID that a program prints first. */
  const printedPid = async (running: Awaited<ReturnType<typeof begin>>): Promise<number> => {
    const first = (await running.stream.next()).value!.event!.event;
    if (first.case !== 'data') throw new Error('the second event is no data');
    const pid = Number(new TextDecoder().decode(first.value.output.value as Uint8Array));
    // 0 would stand for every process of this test's group.
    expect(pid).toBeGreaterThan(1);
    return pid;
  };

  it('does not wait for output that a child of another session holds once the process was killed', async () => {
    const running = await begin(shell('setsid sleep 600 & echo $!; wait'));
    const left = await printedPid(running);
    await eventually('a session of its own', () => readProcStat(left)?.sid === left);
    await daemon.client.sendSignal({ process: byPid(running.pid), signal: Signal.SIGKILL });
    expect((await running.rest).end?.status).toBe('signal: killed');
    process.kill(left, 'SIGKILL');
  });

  it.each([
    ['a signal', {}],
    ['the end of its time', { headers: { 'Connect-Timeout-Ms': '1000' } }],
  ])('ends with all of its session when %s kills it', async (_, options) => {
    // With job control the child leads a process group of its own.
    const args = ['-c', 'set -m; sleep 600 & echo $!; wait'];
    const running = await begin({ process: { cmd: 'bash', args }, stdin: false }, options);
    const child = await printedPid(running);
    expect(readProcStat(child)?.pgid).toBe(child);
    if (!('headers' in options))
      await daemon.client.sendSignal({ process: byPid(running.pid), signal: Signal.SIGKILL });
    await running.rest.catch(() => {});
    await eventually('the child to end', () => {
      const state = readProcStat(child)?.state;
      return state === undefined || state === 'Z';
    });
  });

  it('gives output as JSON for little more than as bytes', async () => {
    const cost = async (as: 'json' | 'bytes') => {
      const fresh = await startDaemon();
      try {
        const { bytes } = await collect(
          fresh.clientAs('user', as).start(shell('head -c 20000000 /dev/zero')),
        );
        expect(bytes).toBe(20_000_000);
        return readProcStat(fresh.pid)!.cpuTicks;
      } finally {
        await fresh.stop();
      }
    };
    expect(await cost('json')).toBeLessThan(5 * (await cost('bytes')));
  });

  it('stops the program while its reader is behind, and gives it all 40 MB in flat memory', async () => {
    const size = 40_000_000;
    const grown = await growth(async () => {
      const { pid, stream } = await begin(shell(`exec head -c ${size} /dev/zero`));
      // Input that is neither read nor refused has to be kept somewhere: the daemon, or the two ends of the connection.
      let written: number | undefined = 0;
      let same = 0;
      await eventually('the program to stop or to end', () => {
        const now = writtenBytes(pid);
        same = now === written ? same + 1 : 0;
        written = now;
        return now === undefined || (now > 0 && same === 20);
      });
      expect(written).toBeLessThan(16 * 1024 * 1024);
      let bytes = 0;
      for await (const { event } of { [Symbol.asyncIterator]: () => stream }) {
        if (event?.event.case === 'data') bytes += event.event.value.output.value!.length;
      }
      expect(bytes).toBe(size);
    });
    expect(grown).toBeLessThan(FLAT_BYTES);
  });
});

describe('Connect', () => {
  it('gives every reader a copy and lets one leave without harm', async () => {
    const { pid, rest } = await begin(shell('read line; echo $line; read line; echo $line', { stdin: true }));
    const leaving = new AbortController();
    const other = daemon.client.connect({ process: byPid(pid) })[Symbol.asyncIterator]();
    await other.next();
    const gone = daemon.client
      .connect({ process: byPid(pid) }, { signal: leaving.signal })
      [Symbol.asyncIterator]();
    await gone.next();
    leaving.abort();
    await gone.next().catch(() => {});
    const third = daemon.client.connect({ process: byPid(pid) })[Symbol.asyncIterator]();
    await third.next();
    await daemon.client.sendInput({ process: byPid(pid), input: stdin('one\n') });
    await daemon.client.sendInput({ process: byPid(pid), input: stdin('two\n') });
    expect((await rest).stdout).toBe('one\ntwo\n');
    for (const reader of [other, third])
      expect((await collect({ [Symbol.asyncIterator]: () => reader })).stdout).toBe('one\ntwo\n');
  });

  const from = (pid: number, offset: number) => ({ process: byPid(pid), from: BigInt(offset) });

  it('replays the output of a running process from an offset, then goes on', async () => {
    const { pid, rest } = await begin(shell('echo first; read line; echo "then $line"', { stdin: true }));
    await eventually('the first line', async () => {
      const stream = daemon.client.connect(from(pid, 0))[Symbol.asyncIterator]();
      await stream.next();
      const data = (await stream.next()).value?.event?.event;
      await stream.return?.();
      return data?.case === 'data';
    });
    const whole = collect(daemon.client.connect(from(pid, 0)));
    const part = collect(daemon.client.connect(from(pid, 2)));
    const now = daemon.client.connect({ process: byPid(pid) })[Symbol.asyncIterator]();
    await now.next();
    await daemon.client.sendInput({ process: byPid(pid), input: stdin('more\n') });
    expect((await whole).stdout).toBe('first\nthen more\n');
    expect((await part).stdout).toBe('rst\nthen more\n');
    expect((await collect({ [Symbol.asyncIterator]: () => now })).stdout).toBe('then more\n');
    expect((await rest).stdout).toBe('first\nthen more\n');
  });

  it("gives an ended process's output to whoever asks for it, and only to them", async () => {
    const { pid } = await collect(daemon.client.start(shell('echo out; echo err >&2; exit 3')));
    const late = await collect(daemon.client.connect(from(pid, 0)));
    expect(late).toMatchObject({ stdout: 'out\n', stderr: 'err\n', end: { exitCode: 3 } });
    expect(await collect(daemon.client.connect({ process: byPid(pid) }))).toMatchObject({ bytes: 0 });
    expect(await collect(daemon.client.connect(from(pid, 8)))).toMatchObject({
      bytes: 0,
      end: { exitCode: 3 },
    });
  });

  it('keeps the output of a process that nobody follows, and says what is gone of it', async () => {
    const leaving = new AbortController();
    const size = 3_000_000;
    const { pid, rest } = await begin(shell(`read line; head -c ${size} /dev/zero`, { stdin: true }), {
      signal: leaving.signal,
    });
    leaving.abort();
    await rest.catch(() => {});
    await daemon.client.sendInput({ process: byPid(pid), input: stdin('go\n') });
    await eventually('the end', async () =>
      (await daemon.client.list({})).processes.every((process) => process.pid !== pid),
    );
    const stream = daemon.client.connect(from(pid, 1000))[Symbol.asyncIterator]();
    const start = (await stream.next()).value?.event?.event;
    const offset = start?.case === 'start' ? Number(start.value.offset) : Number.NaN;
    expect(offset).toBeGreaterThan(1000);
    expect(offset).toBeLessThan(size);
    const late = await collect({ [Symbol.asyncIterator]: () => stream });
    expect(offset + late.bytes).toBe(size);
    expect(late.end?.exitCode).toBe(0);
  });

  it('names a process by its pid and its start, in streams and in the list', async () => {
    const before = Date.now();
    const { pid } = await begin(shell('exec sleep 600'));
    const stream = daemon.client.connect({ process: byPid(pid) })[Symbol.asyncIterator]();
    const start = (await stream.next()).value?.event?.event;
    const { processes } = await daemon.client.list({});
    const listed = processes.find((process) => process.pid === pid);
    const startedAt = listed?.startedAt && timestampMs(listed.startedAt);
    expect(startedAt).toBeGreaterThanOrEqual(before);
    expect(startedAt).toBeLessThanOrEqual(Date.now());
    expect(start).toMatchObject({ case: 'start', value: { pid, startedAt: listed?.startedAt } });
    expect(start?.case === 'start' && start.value.offset).toBeUndefined();
    await daemon.client.sendSignal({ process: byPid(pid), signal: Signal.SIGKILL });
  });

  it('keeps memory flat however many programs print and are left', async () => {
    const grown = await growth(async () => {
      for (let round = 0; round < 20; round++) {
        const leaving = new AbortController();
        const { rest } = await begin(shell('head -c 5000000 /dev/zero'), { signal: leaving.signal });
        leaving.abort();
        await rest.catch(() => {});
      }
      await eventually('all of them to end', async () => {
        const { processes } = await daemon.client.list({});
        return processes.every(({ config }) => !config?.args.at(-1)?.startsWith('head -c 5000000'));
      });
    });
    expect(grown).toBeLessThan(FLAT_BYTES);
  });

  it('answers not_found and unimplemented for selectors that mean nothing', async () => {
    expect(await codeOf(collect(daemon.client.connect({ process: byPid(999_999) })))).toBe('NotFound');
    expect(await codeOf(collect(daemon.client.connect({})))).toBe('Unimplemented');
  });

  it('finds the newest process by tag and lists what runs', async () => {
    const older = await begin(shell('exec sleep 600', { tag: 'web' }));
    const newer = await begin(shell('exec sleep 600', { tag: 'web' }));
    const tagged = { selector: { case: 'tag' as const, value: 'web' } };
    const { processes } = await daemon.client.list({});
    expect(processes.filter(({ tag }) => tag === 'web').map(({ pid }) => pid)).toEqual([
      older.pid,
      newer.pid,
    ]);
    await daemon.client.sendSignal({ process: tagged, signal: Signal.SIGTERM });
    expect((await newer.rest).end?.status).toBe('signal: terminated');
    await daemon.client.sendSignal({ process: tagged, signal: Signal.SIGTERM });
    expect((await older.rest).end?.status).toBe('signal: terminated');
    expect(await codeOf(daemon.client.sendSignal({ process: tagged, signal: Signal.SIGTERM }))).toBe(
      'NotFound',
    );
  });

  it('keeps the process when its only reader breaks off', async () => {
    const leaving = new AbortController();
    const { pid, rest } = await begin(shell('read line; echo $line', { stdin: true }), {
      signal: leaving.signal,
    });
    leaving.abort();
    await rest.catch(() => {});
    const again = daemon.client.connect({ process: byPid(pid) })[Symbol.asyncIterator]();
    await again.next();
    await daemon.client.sendInput({ process: byPid(pid), input: stdin('still here\n') });
    expect((await collect({ [Symbol.asyncIterator]: () => again })).stdout).toBe('still here\n');
  });

  it('sends keepalives in silence', async () => {
    const { stream, pid } = await begin(shell('exec sleep 600'), {
      headers: { 'Keepalive-Ping-Interval': '1' },
    });
    expect((await stream.next()).value?.event?.event.case).toBe('keepalive');
    await daemon.client.sendSignal({ process: byPid(pid), signal: Signal.SIGKILL });
  });
});

describe('input', () => {
  it('reaches the program in order through StreamInput, and CloseStdin ends it', async () => {
    const { pid, rest } = await begin(shell('cat', { stdin: true }));
    const lines = Array.from({ length: 500 }, (_, index) => `line ${index}\n`);
    await daemon.client.streamInput(
      (async function* (): AsyncGenerator<MessageInitShape<typeof StreamInputRequestSchema>> {
        yield { event: { case: 'start' as const, value: { process: byPid(pid) } } };
        yield { event: { case: 'keepalive' as const, value: {} } };
        for (const line of lines) yield { event: { case: 'data' as const, value: { input: stdin(line) } } };
      })(),
    );
    await daemon.client.closeStdin({ process: byPid(pid) });
    await daemon.client.closeStdin({ process: byPid(pid) }).catch(() => {});
    expect((await rest).stdout).toBe(lines.join(''));
  });

  it('answers StreamInput as the table of errors says', async () => {
    expect(await daemon.frames('StreamInput', Buffer.alloc(0))).toEqual([
      { flags: 0, json: {} },
      { flags: 2, json: {} },
    ]);
    const codeFor = async (...messages: unknown[]) => {
      const frames = await daemon.frames('StreamInput', Buffer.concat(messages.map(frame)));
      return (frames.at(-1)?.json.error as { code: string } | undefined)?.code;
    };
    expect(await codeFor({ data: { input: { stdin: 'YQ==' } } })).toBe('failed_precondition');
    expect(await codeFor({})).toBe('unimplemented');
    expect(await codeFor({ start: { process: { pid: 999_999 } } })).toBe('not_found');
  });

  it('refuses stdin that is off, of the wrong kind, or not there', async () => {
    const { pid } = await begin(shell('exec sleep 600'));
    const target = { process: byPid(pid) };
    expect(await codeOf(daemon.client.sendInput({ ...target, input: stdin('x') }))).toBe('Internal');
    const pty = { input: { case: 'pty' as const, value: Buffer.from('x') } };
    expect(await codeOf(daemon.client.sendInput({ ...target, input: pty }))).toBe('Internal');
    expect(await codeOf(daemon.client.sendInput(target))).toBe('Unimplemented');
    expect(await codeOf(daemon.client.update({ ...target, pty: { size: { cols: 1, rows: 1 } } }))).toBe(
      'Internal',
    );
    expect(await codeOf(daemon.client.update(target))).toBe('success');
    expect(await codeOf(daemon.client.closeStdin(target))).toBe('success');
    expect(await codeOf(daemon.client.sendSignal({ ...target, signal: Signal.UNSPECIFIED }))).toBe(
      'Unimplemented',
    );
    expect(await codeOf(daemon.client.sendSignal({ ...target, signal: Signal.SIGKILL }))).toBe('success');
  });
});

describe('a terminal', () => {
  const terminal = (line: string) => ({
    process: { cmd: 'sh', args: ['-c', line] },
    pty: { size: { cols: 80, rows: 24 } },
  });

  it('loses nothing of 1 MB printed right before the end', async () => {
    for (let round = 0; round < 5; round++) {
      const run = await collect(daemon.client.start(terminal('head -c 1000000 /dev/zero | tr "\\0" x')));
      expect(run.pty.length).toBe(1_000_000);
      expect(run.end?.status).toBe('exit status 0');
    }
  });

  it('has the size of the request and takes a new one', async () => {
    const { pid, rest } = await begin(terminal('stty size; read x; stty size'));
    await daemon.client.update({ process: byPid(pid), pty: { size: { cols: 132, rows: 43 } } });
    await daemon.client.sendInput({
      process: byPid(pid),
      input: { input: { case: 'pty', value: Buffer.from('\n') } },
    });
    expect((await rest).pty).toContain('43 132');
  });

  it('refuses stdin and CloseStdin, pointing to Ctrl+D, which ends the input', async () => {
    const { pid, rest } = await begin(terminal('cat'));
    expect(await codeOf(daemon.client.sendInput({ process: byPid(pid), input: stdin('x') }))).toBe(
      'Internal',
    );
    const closing = daemon.client.closeStdin({ process: byPid(pid) });
    await expect(closing).rejects.toMatchObject({
      code: Code.Unknown,
      message: expect.stringContaining('Ctrl+D'),
    });
    await daemon.client.sendInput({
      process: byPid(pid),
      input: { input: { case: 'pty', value: Buffer.from([4]) } },
    });
    expect((await rest).end?.status).toBe('exit status 0');
  });

  it('does not leak into programs that start later', async () => {
    const { pid } = await begin(terminal('exec sleep 600'));
    const { stdout } = await collect(daemon.client.start(shell('ls -l /proc/self/fd')));
    expect(stdout).not.toContain('ptmx');
    const second = await collect(daemon.client.start(terminal('ls -l /proc/self/fd')));
    expect(second.pty).not.toContain('ptmx');
    await daemon.client.sendSignal({ process: byPid(pid), signal: Signal.SIGKILL });
  });
});

it('leaves no descriptors behind after many processes', async () => {
  const { readdirSync } = await import('node:fs');
  const count = () => readdirSync(`/proc/${daemon.pid}/fd`).length;
  await collect(daemon.client.start(shell('true')));
  const before = count();
  for (let round = 0; round < 120; round++) {
    await collect(daemon.client.start({ ...shell('true'), stdin: round % 2 === 0 }));
  }
  await eventually('descriptors to be closed', () => count() <= before);
});
