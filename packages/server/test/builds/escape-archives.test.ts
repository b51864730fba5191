import { once } from 'node:events';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Readable } from 'node:stream';
import { createGzip, gzipSync } from 'node:zlib';
import { type ArchiveLimits, DEFAULT_ARCHIVE_LIMITS } from '@svc/runtime/contract';
import { checkHost, linuxDriverCanRun } from '@svc/runtime/host';
import { forgeArchive, paxRecord, randomNumbers, tarBytes } from '@svc/runtime/testing';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { compileGlob } from '../../src/templates/builds/files/glob.js';
import { openDockerArchive } from '../../src/templates/builds/images/docker-archive.js';
import type { LocalImage } from '../../src/templates/builds/images/image.js';
import { openOciLayout } from '../../src/templates/builds/images/oci-layout.js';
import { squashImage } from '../../src/templates/builds/images/squash.js';
import { BuildError } from '../../src/templates/builds/shared/build.js';
import { startTestServer, type TestServer } from '../support/server.js';
import { createTemplate, ended, sha256, start } from '../support/templates.js';
import { writeOciLayout } from './oci-fixture.js';

/** Images that are forged. */
const FORGED = Number(process.env.SVC_FUZZ_ARCHIVES ?? (process.env.SVC_HEAVY ? 100_000 : 1_000));

/** A gzip-compressed archive of parts, made as it is sent: it is too large to hold. */
async function compressed(parts: Iterable<Buffer>): Promise<Buffer> {
  const gzip = createGzip({ level: 1 });
  Readable.from(parts).pipe(gzip);
  const chunks: Buffer[] = [];
  gzip.on('data', (chunk: Buffer) => chunks.push(chunk));
  await once(gzip, 'end');
  return Buffer.concat(chunks);
}

function* manyLongNames(): Generator<Buffer> {
  const name = paxRecord('path', 'n'.repeat(1_000_000));
  const entry = tarBytes([{ name: 'pax', type: 'pax', content: name }, { name: 'file' }]).subarray(0, -1_024);
  for (let count = 0; count < 5_000; count += 1) yield entry;
  yield Buffer.alloc(1_024);
}

function* zeros(bytes: number): Generator<Buffer> {
  const header = tarBytes([{ name: 'zeros' }]).subarray(0, 512);
  header.write(`${bytes.toString(8).padStart(11, '0')}\0`, 124);
  header.write('        ', 148);
  let sum = 0;
  for (const byte of header) sum += byte;
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  yield header;
  const piece = Buffer.alloc(2 ** 20);
  for (let sent = 0; sent < bytes; sent += piece.length) yield piece;
  yield Buffer.alloc(1_024);
}

describe('an upload of build files', () => {
  let test: TestServer;
  let templateId: string;
  beforeAll(async () => {
    test = await startTestServer();
    templateId = (await createTemplate(test, { name: 'hostile' })).templateID;
  });
  afterAll(() => test?.[Symbol.asyncDispose]());

  async function put(archive: Buffer): Promise<{ status: number; message: string }> {
    const link = await test.api('GET', `/templates/${templateId}/files/${sha256(archive)}`);
    const answer = await fetch(link.body.url, { method: 'PUT', body: new Uint8Array(archive) });
    const text = await answer.text();
    return { status: answer.status, message: text === '' ? '' : JSON.parse(text).message };
  }

  it('of 5,000 names of 1 MB is refused and does not end the server', async () => {
    const archive = await compressed(manyLongNames());
    expect(archive.length).toBeLessThan(30e6);
    // Garbage counts too, of other tests in this process as well; kept, the names alone would be 5 GB.
    const before = process.memoryUsage().rss;
    expect(await put(archive)).toEqual({ status: 400, message: expect.stringMatching(/maxNameBytes/) });
    expect(process.memoryUsage().rss - before).toBeLessThan(1e9);
    expect((await test.api('GET', '/v2/sandboxes')).status).toBe(200);
  });

  it('that becomes a thousand times larger is refused', async () => {
    expect(await put(await compressed(zeros(300 * 2 ** 20)))).toEqual({
      status: 400,
      message: expect.stringMatching(/maxExpansion/),
    });
  });

  it.each([
    ['a device', [{ name: 'disk', type: 'block', device: { major: 254, minor: 0 } }]],
    ['a name that leads out', [{ name: '../../etc/cron.d/x', content: 'x' }]],
    [
      'a file behind a link',
      [
        { name: 'door', type: 'symlink', linkname: '/etc' },
        { name: 'door/x', content: 'x' },
      ],
    ],
    ['a hard link to a file of the host', [{ name: 'x', type: 'link', linkname: '/etc/shadow' }]],
  ] as const)('with %s is refused', async (_, entries) => {
    const answer = await put(gzipSync(tarBytes(entries)));
    expect(answer).toEqual({ status: 400, message: expect.stringMatching(/^the archive is refused: /) });
  });
});

describe('a pattern of COPY', () => {
  it('of many stars takes no time to speak of', () => {
    expect(compileGlob(`${'*a'.repeat(30)}*b`)('a'.repeat(4_000))).toBe(false);
    expect(compileGlob(`${'**/'.repeat(30)}b`)('a/'.repeat(2_000))).toBe(false);
  });

  it.each([
    ['*.ts', 'a.ts', true],
    ['*.ts', 'a/b.ts', false],
    ['**/*.ts', 'a.ts', true],
    ['**/*.ts', 'a/b/c.ts', true],
    ['**', 'a/b', true],
    ['a/**', 'a/', false],
    ['a**b', 'a/x/b', true],
    ['?', 'a', true],
    ['?', '/', false],
    ['[a-c]x', 'bx', true],
    ['[!a-c]x', 'bx', false],
    ['[z-a]x', 'bx', false],
    ['[a.ts', '[a.ts', true],
    ['a+(b)', 'a+(b)', true],
  ])('%j and %j: %j', (glob, name, fits) => {
    expect(compileGlob(glob)(name)).toBe(fits);
  });
});

describe('an image of strangers', () => {
  const squash = async (layers: Buffer[], limits: Partial<ArchiveLimits> = {}) => {
    const image = { digest: 'd', env: [], layers: layers.map((layer) => () => Readable.from([layer])) };
    const signal = new AbortController().signal;
    let bytes = 0;
    for await (const chunk of await squashImage(image, { ...DEFAULT_ARCHIVE_LIMITS, ...limits }, signal))
      bytes += (chunk as Buffer).length;
    return bytes;
  };

  it('is measured over all of its layers', async () => {
    const layer = (name: string) => tarBytes([{ name, content: 'x'.repeat(1_000) }]);
    const layers = [layer('a'), layer('b'), layer('c')];
    await expect(squash(layers, { maxEntries: 2 })).rejects.toThrow(/refused.*\(maxEntries\)/);
    await expect(squash(layers, { maxNamesBytes: 2 })).rejects.toThrow(/\(maxNamesBytes\)/);
    await expect(squash(layers, { maxBytes: 2_800 })).rejects.toThrow(/\(maxBytes\)/);
    await expect(squash(Array(600).fill(layer('a')))).rejects.toThrow(/layers/);
  });

  it('with thousands of removals of directories takes no longer for each than for the first', async () => {
    const names = Array.from({ length: 10_000 }, (_, n) => `d${n}`);
    const low = tarBytes(names.map((name) => ({ name: `${name}/`, type: 'directory' })));
    const high = tarBytes(names.map((name) => ({ name: `.wh.${name}` })));
    expect(await squash([low, high])).toBeLessThan(10_000);
  });

  it('whose links are a maze is refused', async () => {
    const detour = 'a/../'.repeat(19);
    const links = Array.from({ length: 39 }, (_, n) => ({
      name: `l${n}`,
      type: 'symlink' as const,
      linkname: `${detour}l${n + 1}`,
    }));
    const files = Array.from({ length: 40_000 }, () => ({ name: 'l0/x' }));
    await expect(squash([tarBytes(links), tarBytes(files)])).rejects.toThrow(/maze/);
  });

  it('that would have millions of directories is refused before they are made', async () => {
    const path = 'd/'.repeat(120);
    const files = Array.from({ length: 12_000 }, (_, n) => ({
      name: 'p',
      type: 'pax' as const,
      content: paxRecord('path', `${n}/${path}f`),
    }));
    await expect(squash([tarBytes(files.flatMap((file) => [file, { name: 'f' }]))])).rejects.toThrow(
      /more than 1000000 of its directories/,
    );
  });

  const count = FORGED;
  it(`is read or refused when it is forged, ${count} times`, async () => {
    const seed = tarBytes([
      { name: 'a/', type: 'directory' },
      { name: 'a/file', content: 'x'.repeat(600) },
      { name: 'p', type: 'pax', content: paxRecord('path', 'a/.wh.other') },
      { name: 'f' },
      { name: 'link', type: 'symlink', linkname: '../../a' },
      { name: 'link/hard', type: 'link', linkname: 'a/file' },
      { name: '.wh..wh..opq' },
    ]);
    const random = randomNumbers(13);
    const outcomes = { read: 0, refused: 0 };
    for (let round = 0; round < count; round += 1) {
      try {
        await squash([forgeArchive(seed, random), forgeArchive(seed, random)], { maxBytes: 65_536 });
        outcomes.read += 1;
      } catch (error) {
        if (!(error instanceof BuildError)) throw error;
        outcomes.refused += 1;
      }
    }
    expect(outcomes.read).toBeGreaterThan(count / 50);
    expect(outcomes.refused).toBeGreaterThan(count / 50);
  }, 3_000_000);
});

describe('a description that comes with an image', () => {
  const NASTY: unknown[] = [
    null,
    true,
    -1,
    1e308,
    '',
    '../../etc/passwd',
    'sha256:..',
    `sha256:${'0'.repeat(64)}`,
    [],
    {},
    [null],
    [[]],
    { toString: 1 },
    { length: 5 },
    'x'.repeat(300),
    JSON.parse('{"__proto__": {"digest": "sha256:x"}}'),
  ];
  const count = Math.ceil(FORGED / 4);

  /** The same with one value exchanged for another, or left out. */
  function forge(value: unknown, random: () => number): unknown {
    const places: [object, string][] = [];
    const copy = structuredClone({ top: value }) as object;
    const walk = (at: object) => {
      for (const key of Object.keys(at)) {
        places.push([at, key]);
        const below = (at as Record<string, unknown>)[key];
        if (typeof below === 'object' && below !== null) walk(below);
      }
    };
    walk(copy);
    const [at, key] = places[Math.floor(random() * places.length)]! as [Record<string, unknown>, string];
    if (random() < 0.2) delete at[key];
    else at[key] = NASTY[Math.floor(random() * NASTY.length)];
    return (copy as { top?: unknown }).top ?? null;
  }

  it(`is read or refused when it is forged, ${count} times`, async () => {
    const directory = await mkdtemp(path.join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'svc-forged-'));
    onTestFinished(() => rm(directory, { recursive: true, force: true }));
    const random = randomNumbers(29);
    /** Those of the last rounds go: the directory stays small. */
    const written: string[] = [];
    const blobs = path.join(directory, 'blobs', 'sha256');
    await mkdir(blobs, { recursive: true });
    const blob = (content: string | Buffer) => {
      const hex = sha256(Buffer.from(content));
      written.push(path.join(blobs, hex));
      writeFileSync(path.join(blobs, hex), content);
      return { digest: `sha256:${hex}`, size: content.length };
    };
    const layer = blob(tarBytes([{ name: 'a', content: 'a' }]));
    const rootfs = { type: 'layers', diff_ids: [layer.digest, layer.digest] };
    written.length = 0;
    const outcomes = { read: 0, refused: 0 };
    const settle = async (open: Promise<LocalImage>) => {
      try {
        const { layers, env, digest } = await open;
        expect(env.every((each) => typeof each === 'string')).toBe(true);
        expect(digest).toMatch(/^sha256:[0-9a-f]{64}$/);
        for (const read of layers) for await (const _ of read()) break;
        outcomes.read += 1;
      } catch (error) {
        if (!(error instanceof BuildError)) throw error;
        outcomes.refused += 1;
      }
    };
    const maybe = (value: unknown) => (random() < 0.4 ? forge(value, random) : value);
    for (let round = 0; round < count; round += 1) {
      for (const file of written.splice(0)) rmSync(file, { force: true });
      const config = blob(JSON.stringify(maybe({ os: 'linux', config: { Env: ['A=1', 'B'] }, rootfs })));
      const manifest = blob(JSON.stringify(maybe({ config, layers: [layer, layer] })));
      const platform = { architecture: process.arch === 'x64' ? 'amd64' : process.arch, os: 'linux' };
      const list = blob(JSON.stringify(maybe({ manifests: [{ ...manifest, platform }] })));
      const chosen = random() < 0.5 ? manifest : { ...list, mediaType: 'application/x.image.index' };
      const index = JSON.stringify(maybe({ manifests: [chosen] }));
      // As bytes that are no JSON, too.
      writeFileSync(path.join(directory, 'index.json'), random() < 0.05 ? index.slice(0, -3) : index);
      await settle(openOciLayout(directory, undefined, DEFAULT_ARCHIVE_LIMITS));
      const saved = [
        {
          Config: `blobs/sha256/${config.digest.slice(7)}`,
          RepoTags: ['a:1'],
          Layers: Array(2).fill(`blobs/sha256/${layer.digest.slice(7)}`),
        },
      ];
      writeFileSync(path.join(directory, 'manifest.json'), JSON.stringify(maybe(saved)));
      await settle(openDockerArchive(directory, random() < 0.5 ? undefined : 'a:1', DEFAULT_ARCHIVE_LIMITS));
    }
    expect(outcomes.read).toBeGreaterThan(count / 50);
    expect(outcomes.refused).toBeGreaterThan(count / 50);
  }, 3_000_000);
});

const able = linuxDriverCanRun(await checkHost({ dataDir: tmpdir() }));
if (!able) console.warn('Images of strangers: skipped, this host cannot run the linux driver');

describe.skipIf(!able)('a build from an image of strangers', () => {
  it('that unpacks to gigabytes fails with the limit that it goes beyond, and leaves nothing', async () => {
    const images = await mkdtemp(path.join(tmpdir(), 'svc-images-'));
    onTestFinished(() => rm(images, { recursive: true, force: true }));
    const test = await startTestServer({
      driver: 'linux',
      poolSize: 0,
      tuning: { builds: { imageDirectories: [images] } },
    });
    onTestFinished(() => test[Symbol.asyncDispose]());
    await writeOciLayout(path.join(images, 'bomb'), [
      [{ name: 'zeros', content: Buffer.alloc(200 * 2 ** 20) }],
    ]);
    const created = await createTemplate(test, { name: 'bomb' });
    await start(test, created, { fromImage: `oci:${path.join(images, 'bomb')}` });
    const end = await ended(test, created);
    expect(end.status).toBe('error');
    expect(end.reason.message).toMatch(/the image is refused: .*maxExpansion/);
    expect(await test.server.context.driver.layers.list()).toEqual([]);
    expect(await readdir(path.join(test.dataDir, 'builds', 'drafts')).catch(() => [])).toEqual([]);
  });
});
