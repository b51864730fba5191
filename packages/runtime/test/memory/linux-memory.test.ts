import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { eventually } from '#support/eventually';
import { DriverError } from '../../src/contract/errors.js';
import { Cgroups } from '../../src/linux-driver/cgroups/cgroups.js';
import { NamespaceKeeper } from '../../src/linux-driver/namespace/namespace-keeper.js';
import { pathsOf } from '../../src/linux-driver/state/paths.js';
import { DaemonClient } from '../../src/testing/daemon-client.js';
import { type CountingProgram, PROGRAMS, startProgram, step } from '../support/counting-programs.js';
import { linuxBench } from '../support/linux-bench.js';
import { memorySkipReason } from '../support/linux-host.js';

const skip = memorySkipReason();

/** The things that CRIU refuses or would hang on, as far as a sandbox lets a program make them. */
const UNDUMPABLE = [
  {
    title: 'a stopped program',
    script: "sh -c 'echo $$ > /tmp/pid; kill -STOP $$; sleep 1000'",
    ready: 'grep -q "^State:.*T" /proc/$(cat /tmp/pid)/status',
    named: /"sh" \(process \d+\) is stopped/,
  },
  {
    title: 'a message queue',
    script: python('ctypes.CDLL("librt.so.1").mq_open(b"/x", 0o102, 0o600, None)'),
    ready: 'test -s /tmp/up',
    named: /"python3" \(process \d+\) holds a file open that is in none of its file systems/,
  },
  {
    title: 'a program that waits for one which never begins',
    script: startsPrograms(1000, 0),
    ready: 'grep -q "^State:.*D" /proc/$(cat /tmp/pid)/status',
    named: /"perl" \(process \d+\) waits for a program that it starts and that does not begin/,
  },
];

/** Starts others as shells and spawn functions do, by vfork, and takes its time over each and between them, seconds. */
function startsPrograms(each: number, between: number): string {
  const call = process.arch === 'arm64' ? 220 : 56;
  return `echo $$ > /tmp/pid; exec perl -e '$| = 1; open(F, ">/tmp/up"); for (;;) { my $p = syscall(${call}, 0x4011, 0, 0, 0, 0); if ($p == 0) { select(undef, undef, undef, ${each}); exec "true" } waitpid($p, 0); print F "x"; select(undef, undef, undef, ${between}) }'`;
}

/** The things that the filter of a sandbox refuses, made outside. Each reports when it is ready. */
const FOREIGN = [
  {
    title: 'a user namespace of its own',
    argv: () => ['unshare', '-U', 'perl', '-e', '$| = 1; print "ready"; sleep 1000'],
    named: /"perl" \(process \d+\) runs in a user namespace of its own/,
  },
  {
    title: 'io_uring',
    argv: (pid: number) => [
      ...['nsenter', '--user', `--target=${pid}`, '--preserve-credentials', 'python3', '-c'],
      'import ctypes, time; libc = ctypes.CDLL(None); ring = ctypes.create_string_buffer(120)\nassert libc.syscall(425, 1, ring) > 0\nprint("ready", flush=True); time.sleep(1000)',
    ],
    named: /"python3" \(process \d+\) uses io_uring/,
  },
];

/** A program that does something and then waits. */
function python(statement: string): string {
  return `exec python3 -c 'import ctypes, socket, time; ${statement}; open("/tmp/up", "w").write("1"); time.sleep(1000)'`;
}

describe.skipIf(skip !== undefined)('memory of linux instances', () => {
  const bench = linuxBench({ storeSizeMiB: 4096 });

  async function start(programs: CountingProgram[]) {
    const { instance, client } = await bench.create();
    for (const program of programs) await startProgram(client, program);
    return { instance, client };
  }

  it('forks everything at once into eight copies, each on its own', async () => {
    const { instance, client } = await start(PROGRAMS);
    for (const program of PROGRAMS) expect(await step(client, program), program.title).toBe('1');
    await instance.checkpoint({ checkpointId: 'eight', memory: true, then: 'continue' });
    const ids = Array.from({ length: 8 }, (_, index) => `copy${index}`);
    const copies = await Promise.all(ids.map((id) => bench.restore('eight', true, id)));
    const names = await Promise.all(copies.map((copy) => copy.client.output('hostname')));
    expect(names).toEqual(ids);
    // The first copy is asked once, the second twice, ...: no copy feels the steps of another.
    await Promise.all(
      copies.slice(0, 3).map(async (copy, index) => {
        for (const program of PROGRAMS) {
          for (let turn = 0; turn <= index; turn += 1) {
            expect(await step(copy.client, program), program.title).toBe(String(2 + turn));
          }
        }
      }),
    );
    for (const copy of copies.slice(3)) {
      for (const program of PROGRAMS) expect(await step(copy.client, program), program.title).toBe('2');
    }
    for (const program of PROGRAMS) expect(await step(client, program), program.title).toBe('2');
  }, 240_000);

  it('waits for programs that are just being started', async () => {
    const { instance, client } = await bench.create();
    await client.start(startsPrograms(0.01, 0.01));
    await eventually('the first to run', async () => (await client.run('test -e /tmp/up')).exitCode === 0);
    for (let round = 0; round < 5; round++) {
      const checkpointId = `starting${round}`;
      await instance.checkpoint({ checkpointId, memory: true, then: 'continue' });
    }
    const before = Number(await client.output('wc -c < /tmp/up'));
    await eventually('it to continue', async () => Number(await client.output('wc -c < /tmp/up')) > before);
  });

  it('keeps a file open whose name is deleted while another name of it stays', async () => {
    const { instance, client } = await bench.create();
    await client.start(
      `mkdir /tmp/names; cd /tmp/names; echo kept > one; ln one two; exec python3 -c '
import os, time
f = open("one"); os.unlink("one"); os.mkfifo("/tmp/ask")
while True: open("/tmp/ask").read(); f.seek(0); open("/tmp/answer", "w").write(f.read())'`,
    );
    const ready = (shell: DaemonClient) =>
      eventually('the program to wait', async () => (await shell.run('test -p /tmp/ask')).exitCode === 0);
    await ready(client);
    await instance.checkpoint({ checkpointId: 'names', memory: true, then: 'continue' });
    const copy = await bench.restore('names', true);
    for (const each of [copy.client, client]) {
      await each.run('echo > /tmp/ask');
      await eventually('the answer', async () => (await each.run('cat /tmp/answer')).stdout === 'kept\n');
      expect(await each.output('ls -A /tmp/names')).toBe('two');
    }
  });

  it('is not shared: a copy cannot be reached by the name or address of its source', async () => {
    const { instance, client } = await bench.create();
    await instance.checkpoint({ checkpointId: 'name', memory: true, then: 'continue' });
    const copy = await bench.restore('name', true, 'another');
    expect(await copy.client.output('hostname')).toBe('another');
    expect(await client.output('hostname')).toBe(instance.id);
    const files = (shell: DaemonClient) => shell.output('cat /etc/hostname /etc/hosts');
    expect(await files(copy.client)).toBe('another\n127.0.0.1 localhost another\n::1 localhost');
    expect(await files(client)).toContain(`localhost ${instance.id}`);
    const own = (shell: DaemonClient) => shell.output("hostname -I | cut -d' ' -f1");
    expect(await own(copy.client)).not.toBe(await own(client));
  });

  it('names an instance from the pool in its own files', async () => {
    const spec = bench.spec();
    bench.driver.setPool([{ spec, size: 1 }]);
    await bench.driver.poolReady();
    const { client } = await bench.create({}, 'fromthepool');
    expect(await client.output('cat /etc/hostname /etc/hosts; getent hosts fromthepool')).toMatch(
      /^fromthepool\n127.0.0.1 localhost fromthepool\n::1 localhost\n127.0.0.1 /,
    );
  });

  it('names a copy in its own files without touching what a program has open, wrote, or linked to another path', async () => {
    const { instance, client } = await bench.create();
    expect((await client.run('echo 192.0.2.1 friend >> /etc/hosts', 'root')).exitCode).toBe(0);
    // The link would lead the one who follows it to a file of the host.
    const bait = join(bench.dataDir, 'bait');
    await writeFile(bait, `${instance.id}\n`);
    expect((await client.run(`rm /etc/hostname; ln -s ${bait} /etc/hostname`, 'root')).exitCode).toBe(0);
    await client.start(
      `exec python3 -c 'import time, os
f = open("/etc/hosts"); os.mkfifo("/tmp/ask"); open("/tmp/ask").read()
open("/tmp/held", "w").write(f.read()); time.sleep(1000)'`,
    );
    await eventually(
      'the file to be open',
      async () => (await client.run('test -p /tmp/ask')).exitCode === 0,
    );
    await instance.checkpoint({ checkpointId: 'files', memory: true, then: 'continue' });
    const copy = await bench.restore('files', true, 'renamed');
    expect(await copy.client.output('cat /etc/hosts')).toBe(
      '127.0.0.1 localhost renamed\n::1 localhost\n192.0.2.1 friend',
    );
    await copy.client.run('echo > /tmp/ask');
    await eventually('what the program reads', async () =>
      (await copy.client.run('cat /tmp/held')).stdout.includes(`localhost ${instance.id}\n`),
    );
    expect(await copy.client.output('readlink /etc/hostname')).toBe(bait);
    expect(await readFile(bait, 'utf8')).toBe(`${instance.id}\n`);
    // A copy of the copy: a file that is open and has no name any more.
    await copy.instance.checkpoint({ checkpointId: 'again', memory: true, then: 'continue' });
    const third = await bench.restore('again', true, 'third');
    expect(await third.client.output('cat /etc/hosts')).toContain('localhost third\n');
  });

  it.each(UNDUMPABLE)(
    'refuses what cannot be stored and names it: $title',
    async ({ script, ready, named }) => {
      const { instance, client } = await bench.create();
      await client.start(script);
      await eventually('the program to be there', async () => (await client.run(ready)).exitCode === 0);
      const error = await instance
        .checkpoint({ checkpointId: 'no', memory: true, then: 'destroy' })
        .catch((reason: unknown) => reason);
      expect(DriverError.is(error) && error.code).toBe('undumpable');
      expect((error as DriverError).message).toMatch(named);
      expect((error as DriverError).message).not.toContain(bench.dataDir);
      expect(await client.output('echo alive')).toBe('alive');
      expect((await client.run(ready)).exitCode).toBe(0);
      expect(await bench.driver.listCheckpoints()).toEqual([]);
    },
  );

  it.each(FOREIGN)(
    'names what a sandbox does not let a program get, should it have it after all: $title',
    async ({ argv, named }) => {
      const { instance, client } = await bench.create();
      const cgroups = new Cgroups(pathsOf(bench.dataDir).tag);
      const name = cgroups.names().find((each) => cgroups.pids(each).length > 0)!;
      // From outside, where nothing forbids it, and then moved in.
      const [command, ...words] = argv(cgroups.pids(name)[0]!);
      const child = spawn(command!, words, { stdio: ['ignore', 'pipe', 'ignore'] });
      try {
        await once(child.stdout!, 'data', { signal: AbortSignal.timeout(30_000) });
        await writeFile(join(cgroups.freezerOf(name), 'cgroup.procs'), String(child.pid));
        const error = await instance
          .checkpoint({ checkpointId: 'no', memory: true, then: 'destroy' })
          .catch((reason: unknown) => reason);
        expect(DriverError.is(error) && error.code).toBe('undumpable');
        expect((error as DriverError).message).toMatch(named);
        expect(child.exitCode ?? child.signalCode).toBeNull();
        expect(await client.output('echo alive')).toBe('alive');
        expect(await bench.driver.listCheckpoints()).toEqual([]);
      } finally {
        child.kill('SIGKILL');
      }
    },
  );

  it('gives programs no io_uring and no user namespaces, which could not be stored', async () => {
    const { client } = await bench.create();
    expect(
      await client.output(`python3 -c '
import ctypes; libc = ctypes.CDLL(None, use_errno=True)
libc.syscall(425, 1, 0); print(ctypes.get_errno())'`),
    ).toBe('38');
    expect((await client.run('unshare -U true')).exitCode).not.toBe(0);
    expect((await client.run('unshare -r true', 'root')).exitCode).not.toBe(0);
  });

  it('outlives the driver and the namespaces and mounts of the host', async () => {
    const program = PROGRAMS[0]!;
    const { instance, client } = await start([program]);
    expect(await step(client, program)).toBe('1');
    await instance.checkpoint({ checkpointId: 'paused', memory: true, then: 'destroy' });
    await bench.driver.close();
    const keeper = NamespaceKeeper.find(pathsOf(bench.dataDir));
    keeper?.stop(pathsOf(bench.dataDir));
    await bench.open();
    const copy = await bench.restore('paused', true);
    expect(await step(copy.client, program)).toBe('2');
  });

  it('lets running instances continue when their namespace keeper is lost', async () => {
    const program = PROGRAMS[0]!;
    const { instance, client } = await start([program]);
    expect(await step(client, program)).toBe('1');
    await bench.driver.close();
    const keeper = NamespaceKeeper.find(pathsOf(bench.dataDir))!;
    keeper.stop(pathsOf(bench.dataDir));
    await eventually('the end of the namespace keeper', () => !keeper.alive);
    await bench.open();
    const adopted = await bench.driver.adopt(instance.id);
    expect(adopted).toBeDefined();
    expect(await step(new DaemonClient(adopted!), program)).toBe('2');
  });

  it('leaves no cgroup and no process behind after rounds of pause and resume', async () => {
    const before = await bench.driver.list();
    let { instance } = await bench.create();
    for (let round = 0; round < 5; round += 1) {
      await instance.checkpoint({ checkpointId: `round${round}`, memory: true, then: 'destroy' });
      instance = (await bench.restore(`round${round}`, true)).instance;
      await bench.driver.deleteCheckpoint(`round${round}`);
    }
    await instance.destroy();
    expect(await bench.driver.list()).toEqual(before);
    expect(await bench.driver.listCheckpoints()).toEqual([]);
  }, 180_000);
});
