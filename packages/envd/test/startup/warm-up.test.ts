import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type BundledDaemon, privateKiB, startBundled } from '../bundled-daemon.js';
import { collect, shell } from '../process/collect.js';

let daemon: BundledDaemon;
beforeAll(async () => {
  daemon = await startBundled();
});
afterAll(() => daemon.stop());

const get = (path: string) => fetch(`${daemon.url}${path}`);

describe('the warm-up', () => {
  it('can be waited for', async () => {
    expect((await get('/health?warm=1')).status).toBe(204);
    expect((await get('/health?warm=1')).status).toBe(204);
  });

  it('runs a program when it is what the first request waits for', async () => {
    const programs = mkdtempSync(join(tmpdir(), 'envd-programs-'));
    writeFileSync(join(programs, 'true'), '#!/bin/sh\n: > "${0%/*}/ran"\n', { mode: 0o755 });
    const other = await startBundled({ env: { PATH: `${programs}:${process.env.PATH}` } });
    try {
      expect((await fetch(`${other.url}/health?warm=1`)).status).toBe(204);
      expect(readdirSync(programs)).toContain('ran');
    } finally {
      await other.stop();
      rmSync(programs, { recursive: true, force: true });
    }
  });

  it('leaves no trace in what the daemon tells', async () => {
    expect((await get('/health?warm=1')).status).toBe(204);
    expect((await daemon.client.list({})).processes).toEqual([]);
    expect(await (await get('/logs')).json()).toEqual({ entries: [], next: 0, dropped: 0 });
    // It gave a token and variables, but to an app of its own.
    const envs = await get('/envs');
    expect(envs.status).toBe(200);
    expect(await envs.json()).toEqual({});
  });

  it('does not count for the order of /init', async () => {
    await get('/health?warm=1');
    const init = (body: unknown) =>
      fetch(`${daemon.url}/init`, { method: 'POST', body: JSON.stringify(body) });
    expect((await init({ timestamp: '1990-01-01T00:00:00Z', envVars: { EARLY: '1' } })).status).toBe(204);
    expect(await (await get('/envs')).json()).toEqual({ EARLY: '1' });
  });

  it('does not keep first calls from being answered', async () => {
    const other = await startBundled();
    try {
      const runs = [1, 2, 3].map((code) => collect(other.client.start(shell(`exit ${code}`))));
      expect((await Promise.all(runs)).map(({ end }) => end?.exitCode)).toEqual([1, 2, 3]);
    } finally {
      await other.stop();
    }
  });

  it('leaves no folder behind when the daemon is ended at once', async () => {
    const temporary = mkdtempSync(join(tmpdir(), 'envd-temporary-'));
    try {
      const other = await startBundled({ env: { TMPDIR: temporary } });
      await other.stop();
      expect(readdirSync(temporary)).toEqual([]);
    } finally {
      rmSync(temporary, { recursive: true, force: true });
    }
  });
});

describe('memory', () => {
  it('grows by little over hundreds of programs', async () => {
    await get('/health?warm=1');
    const before = privateKiB(daemon.pid);
    for (let index = 0; index < 300; index++)
      await collect(daemon.client.start({ process: { cmd: 'true' } }));
    expect(privateKiB(daemon.pid) - before).toBeLessThan(15 * 1024);
  });
});
