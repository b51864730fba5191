import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ownMemoryRoom } from '../../src/linux-driver/cgroups/own-memory.js';

describe('the memory that its cgroups leave the driver', () => {
  let root: string;
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'svc-own-memory-'));
  });
  afterEach(() => rmSync(root, { recursive: true }));
  const group = (path: string, files: Record<string, string>) => {
    mkdirSync(join(root, path), { recursive: true });
    for (const [name, text] of Object.entries(files)) writeFileSync(join(root, path, name), `${text}\n`);
  };

  it('is the least of its own group and those above, where a cache of files does not count', () => {
    group('system.slice', { 'memory.max': '5000', 'memory.current': '1000' });
    group('system.slice/svc-runtime.service', {
      'memory.max': '3000',
      'memory.current': '2500',
      'memory.stat': 'anon 100\ninactive_file 700\nactive_file 5',
    });
    const membership = '0::/system.slice/svc-runtime.service\n';
    expect(ownMemoryRoom({ membership, root })).toBe(1_200);
    group('system.slice', { 'memory.max': '1500' });
    expect(ownMemoryRoom({ membership, root })).toBe(500);
    group('system.slice', { 'memory.max': '900' });
    expect(ownMemoryRoom({ membership, root })).toBe(0);
  });

  it('is read of the hierarchy of memory where cgroups are of version 1, or both', () => {
    const limits = { 'memory.limit_in_bytes': '3000', 'memory.usage_in_bytes': '2500' };
    group('memory/unit', { ...limits, 'memory.stat': 'inactive_file 1\ntotal_inactive_file 200' });
    const membership = '5:cpu,cpuacct:/elsewhere\n3:memory:/unit\n0::/unit\n';
    expect(ownMemoryRoom({ membership, root })).toBe(700);
  });

  it('has no end where nothing limits it', () => {
    group('unit', { 'memory.max': 'max', 'memory.current': '10' });
    expect(ownMemoryRoom({ membership: '0::/unit\n', root })).toBe(Number.POSITIVE_INFINITY);
    expect(ownMemoryRoom({ membership: '', root })).toBe(Number.POSITIVE_INFINITY);
    expect(ownMemoryRoom()).toBeGreaterThan(0);
  });
});
