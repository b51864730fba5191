import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import type { Machine, ObjectKind } from '../../src/contract/transfers.js';
import { readMachine } from '../../src/host/read-machine.js';
import { readObjectHead } from '../../src/linux-driver/transfer/object-head.js';
import { paxRecord, type TarTestEntry, tarBytes } from '../../src/testing/tar.js';
import { openEnvelope, skipBytes, writeEnvelope } from '../../src/transfer/envelope.js';
import { guardObjectTar } from '../../src/transfer/guard-object.js';
import { memoryMisfit } from '../../src/transfer/memory-fit.js';
import { requireObject } from '../../src/transfer/object-id.js';

async function* inPieces(bytes: Buffer, size = 1_000): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function* inOne(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes;
}

const BODY = Buffer.alloc(600_000, 'what an object holds ');
const KEY = Buffer.alloc(32, 'k');
const enveloped = (body = BODY) => buffer(writeEnvelope({ what: 'a test' }, inPieces(body), KEY));

/** Large buffers are compared by it: to compare them value by value takes seconds. */
const digest = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');

async function opened(bytes: Buffer, size?: number) {
  const { head, body } = await openEnvelope(inPieces(bytes, size), KEY);
  return { head, body: await buffer(body) };
}

describe('an envelope', () => {
  it('gives what was put into it, however it is cut', async () => {
    const bytes = await enveloped();
    for (const size of [1_000, 65_536, bytes.length])
      expect(await opened(bytes, size).then(({ head, body }) => [head, digest(body)])).toEqual([
        { what: 'a test' },
        digest(BODY),
      ]);
    expect(digest(await buffer(writeEnvelope({ what: 'a test' }, inOne(BODY), KEY)))).toBe(digest(bytes));
    expect((await opened(await enveloped(Buffer.alloc(0)))).body.length).toBe(0);
  });

  it('continues from an offset', async () => {
    const bytes = await enveloped();
    for (const offset of [0, 1, 20, 262_144, bytes.length - 1, bytes.length, bytes.length + 5])
      expect(digest(await buffer(skipBytes(inPieces(bytes), offset)))).toBe(digest(bytes.subarray(offset)));
  });

  it('is refused when it is cut short anywhere, when a bit of it is another one, and when something follows', async () => {
    const bytes = await enveloped(BODY.subarray(0, 3_000));
    for (let length = 0; length < bytes.length; length += 1)
      await expect(opened(bytes.subarray(0, length))).rejects.toMatchObject({ code: 'invalid_archive' });
    for (let at = 0; at < bytes.length; at += 1) {
      const changed = Buffer.from(bytes);
      changed[at]! ^= 1;
      await expect(opened(changed)).rejects.toMatchObject({ code: 'invalid_archive' });
    }
    await expect(opened(Buffer.concat([bytes, Buffer.from('x')]))).rejects.toMatchObject({
      code: 'invalid_archive',
    });
  });

  it('is refused when it comes from a host with another key', async () => {
    const foreign = await buffer(writeEnvelope({ what: 'a test' }, inPieces(BODY), Buffer.alloc(32, 'x')));
    await expect(opened(foreign)).rejects.toMatchObject({
      code: 'invalid_archive',
      message: expect.stringContaining('another transfer key'),
    });
  });
});

describe('the archive of a stored object', () => {
  const guard = (kind: ObjectKind, entries: readonly TarTestEntry[], maxBytes = 2 ** 20) =>
    buffer(guardObjectTar(inPieces(tarBytes(entries)), kind, { maxBytes }));
  const directory = (name: string): TarTestEntry => ({ name, type: 'directory' });
  const pax = (records: Record<string, string>): TarTestEntry => ({
    name: 'sv/PaxHeaders/x',
    type: 'pax',
    content: Object.entries(records)
      .map(([name, value]) => paxRecord(name, value))
      .join(''),
  });
  const whiteout: TarTestEntry = {
    name: 'sv/u/removed',
    type: 'character',
    device: { major: 0, minor: 0 },
  };
  const checkpoint = [
    ...['img', 'sv', 'sv/u', 'sv/u/etc'].map(directory),
    { name: 'img/pages-1.img', content: 'memory' },
    { name: 'sv/u/etc/file', content: 'text' },
    { name: 'sv/u/hard', type: 'link', linkname: 'sv/u/etc/file' },
    { name: 'sv/u/soft', type: 'symlink', linkname: '/../../anywhere' },
    { name: 'sv/u/pipe', type: 'fifo' },
    whiteout,
    pax({ path: `sv/u/${'long'.repeat(40)}`, 'SCHILY.xattr.trusted.overlay.opaque': 'y' }),
    { name: 'sv/u/x', content: 'of a long name' },
  ] satisfies TarTestEntry[];

  it('is passed on as it is', async () => {
    expect(await guard('checkpoint', checkpoint)).toEqual(tarBytes(checkpoint));
    const layer = [directory('root'), { name: 'root/bin', type: 'symlink', linkname: 'usr/bin' }] as const;
    expect(await guard('layer', layer)).toEqual(tarBytes(layer));
    const base = [{ name: 'base.json', content: '{}' }, directory('root'), { name: 'root/a' }];
    expect(await guard('base', base)).toEqual(tarBytes(base));
    const agent = [directory('./'), { name: './node' }];
    expect(await guard('agent', agent)).toEqual(tarBytes(agent));
  });

  it.each<[string, ObjectKind, TarTestEntry[]]>([
    ['a path out of it', 'checkpoint', [{ name: 'sv/u/../../../etc/passwd' }]],
    ['an absolute path', 'checkpoint', [{ name: '/sv/u/file' }]],
    ['a path out of it in an extension', 'checkpoint', [pax({ path: 'sv/u/../../x' }), { name: 'sv/u/x' }]],
    [
      'a path out of it as the name of a sparse file',
      'checkpoint',
      [pax({ 'GNU.sparse.name': '../x' }), { name: 'sv/u/x' }],
    ],
    ['a record of its own', 'checkpoint', [{ name: 'record.json' }]],
    ['a place that is a link', 'checkpoint', [{ name: 'img', type: 'symlink', linkname: '/' }]],
    ['a writable part that is a link', 'checkpoint', [{ name: 'sv/u', type: 'symlink', linkname: '/' }]],
    ['an image that is a link', 'checkpoint', [{ name: 'img/a.img', type: 'symlink', linkname: '/etc/x' }]],
    ['an image that is a hard link', 'checkpoint', [{ name: 'img/a.img', type: 'link', linkname: 'sv/u/x' }]],
    ['images in directories', 'checkpoint', [{ name: 'img/a/b.img' }]],
    ['a hard link out of it', 'checkpoint', [{ name: 'sv/u/x', type: 'link', linkname: '../../x' }]],
    ['a hard link to an image', 'checkpoint', [{ name: 'sv/u/x', type: 'link', linkname: 'img/a.img' }]],
    ['a disk', 'checkpoint', [{ name: 'sv/u/sda', type: 'block', device: { major: 8, minor: 0 } }]],
    ['memory', 'checkpoint', [{ name: 'sv/u/mem', type: 'character', device: { major: 1, minor: 1 } }]],
    [
      'a file whose content is in another place',
      'layer',
      [pax({ 'SCHILY.xattr.trusted.overlay.metacopy': '' }), { name: 'root/x' }],
    ],
    ['a layer beside its place', 'layer', [{ name: 'layer.json' }]],
    ['a global header', 'layer', [{ name: 'root/x', type: 'globalPax', content: paxRecord('path', 'x') }]],
    ['a name of another kind', 'layer', [{ name: 'root/x', type: 'longName', content: '/etc/passwd' }]],
    ['a directory with a content', 'layer', [{ name: 'root', type: 'directory', content: 'x' }]],
  ])('is refused with %s', async (_what, kind, entries) => {
    await expect(guard(kind, entries)).rejects.toThrow(/^(it has|a directory)/);
  });

  it('is refused when it is larger than it may be, and when it ends in the middle', async () => {
    await expect(guard('checkpoint', checkpoint, 4_000)).rejects.toThrow('maxBytes');
    const cut = tarBytes(checkpoint).subarray(0, 3_000);
    await expect(buffer(guardObjectTar(inPieces(cut), 'checkpoint', { maxBytes: 2 ** 20 }))).rejects.toThrow(
      'ends in the middle',
    );
  });
});

describe('the description of a stored object', () => {
  const machine: Machine = { arch: 'x64', kernel: '6.1.0', cpuFeatures: ['sse2'] };
  const object = { kind: 'checkpoint', id: 'pause-1' } as const;
  const record = {
    memory: true,
    layers: ['trixie-99a0bebe839e-5ca4b9b604fc', '0123456789abcdef0123'],
    agent: '0123456789abcdef',
    addresses: ['10.0.0.2'],
    hostname: 'abc',
    isolation: 'container',
    numbered: true,
    mounts: ['/vol'],
    hostFiles: [{ path: '/usr/bin/sleep', size: 1, mtimeMs: 2 }],
  };
  const head = (change: object = {}, outer: object = {}) => ({
    ...object,
    sizeBytes: 5,
    memory: true,
    machine,
    checkpoint: { ...record, ...change },
    ...outer,
  });

  it('is read, and what it needs is found in it', () => {
    expect(readObjectHead(head({}, { needs: [{ kind: 'layer', id: '../x' }] }), object)).toEqual({
      ...head(),
      needs: [
        { kind: 'agent', id: record.agent },
        { kind: 'base', id: record.layers[0] },
        { kind: 'layer', id: record.layers[1] },
      ],
    });
  });

  it.each<[string, unknown]>([
    ['nothing', undefined],
    ['another object', head({}, { id: 'pause-2' })],
    ['a size that is none', head({}, { sizeBytes: -1 })],
    ['a machine that is none', head({}, { machine: {} })],
    ['memory that it has not', head({ memory: false })],
    ['a layer out of the store', head({ layers: ['../../etc'] })],
    ['an agent out of the store', head({ agent: '../x' })],
    ['an address that is a command', head({ addresses: ['10.0.0.2; reboot'] })],
    ['a name that is a command', head({ hostname: '$(reboot)' })],
    [
      'files beyond the programs of the host',
      head({ hostFiles: [{ path: '/etc/shadow', size: 1, mtimeMs: 1 }] }),
    ],
    ['a file by another way', head({ hostFiles: [{ path: '/usr/../etc/shadow', size: 1, mtimeMs: 1 }] })],
    ['another isolation', head({ isolation: 'none' })],
    ['too many layers', head({ layers: Array(300).fill('abc') })],
  ])('is refused with %s', (_what, value) => {
    expect(() => readObjectHead(value, object)).toThrow('is refused');
  });

  it('is refused for what cannot be an object', () => {
    for (const id of ['', '..', 'a/b', 'A', 'x'.repeat(70)])
      expect(() => requireObject({ kind: 'checkpoint', id })).toThrow('no such');
    for (const kind of ['volume', 'constructor', ''])
      expect(() => requireObject({ kind, id: 'abc' })).toThrow('no such');
  });
});

describe('memory on another machine', () => {
  const machine = (fields: Partial<Machine> = {}): Machine => ({
    arch: 'x64',
    kernel: '6.1.0-18-amd64',
    cpuFeatures: ['avx2', 'md_clear', 'sse2'],
    ...fields,
  });

  it('resumes where nothing is missing', () => {
    expect(memoryMisfit(machine(), machine())).toBeUndefined();
    expect(
      memoryMisfit(machine(), machine({ kernel: '6.12.3', cpuFeatures: ['avx2', 'avx512f', 'sse2'] })),
    ).toBe(undefined);
    expect(memoryMisfit(machine({ kernel: '6.1.9' }), machine({ kernel: '6.1.2' }))).toBeUndefined();
  });

  it('does not resume with another processor, without a feature that programs use, or on an older kernel', () => {
    expect(memoryMisfit(machine(), machine({ arch: 'arm64' }))).toContain('arm64');
    expect(memoryMisfit(machine(), machine({ cpuFeatures: ['sse2'] }))).toContain('does not have avx2');
    expect(memoryMisfit(machine(), machine({ kernel: '5.15.0' }))).toContain('older');
    expect(memoryMisfit(machine({ kernel: '6.10.0' }), machine({ kernel: '6.9.0' }))).toContain('older');
    const arm = { arch: 'arm64', cpuFeatures: ['asimd', 'sve'] };
    expect(memoryMisfit(machine(arm), machine({ ...arm, cpuFeatures: ['asimd'] }))).toContain(
      'does not have sve',
    );
  });

  it('is described by the text of the kernel about the first processor', () => {
    const directory = mkdtempSync(join(tmpdir(), 'cpuinfo-'));
    try {
      const path = join(directory, 'cpuinfo');
      writeFileSync(
        path,
        'processor\t: 0\nflags\t\t: sse2 avx\nbugs : x\n\nprocessor\t: 1\nflags\t\t: fpu\n',
      );
      expect(readMachine(path).cpuFeatures).toEqual(['avx', 'sse2']);
      writeFileSync(path, 'Features\t: fp asimd\n');
      expect(readMachine(path).cpuFeatures).toEqual(['asimd', 'fp']);
    } finally {
      rmSync(directory, { recursive: true });
    }
  });
});
