import { describe, expect, it } from 'vitest';
import { LineSplitter } from '#support/line-splitter';
import { createKeyRing } from '../../src/storage/keys/key-ring.js';
import { BuildQueue } from '../../src/templates/build-queue.js';
import { entryPath, parentsOf } from '../../src/templates/builds/files/entry-path.js';
import { signUpload, verifyUpload } from '../../src/templates/builds/files/upload-token.js';
import { parseImageReference } from '../../src/templates/builds/images/image-reference.js';
import { stepKey } from '../../src/templates/builds/shared/layer-cache.js';
import { homePath } from '../../src/templates/builds/steps/workdir.js';

describe('paths of archive entries', () => {
  it.each([
    ['./a//b/', 'a/b'],
    ['.', ''],
    ['/a', undefined],
    ['a/../b', undefined],
    ['a\0', undefined],
  ])('%j is %j', (name, path) => {
    expect(entryPath(name)).toBe(path);
  });

  it('have parents, the nearest last', () => {
    expect(parentsOf('a/b/c')).toEqual(['a', 'a/b']);
    expect(parentsOf('a')).toEqual([]);
  });
});

describe('paths of templates that are only a home', () => {
  it.each([
    ['/home/user/work', 'work'],
    ['~/work', 'work'],
    ['~', ''],
    ['work/../other', 'other'],
  ])('%j is %j in it', (path, relative) => {
    expect(homePath(path, 'WORKDIR')).toBe(relative);
  });

  it.each(['/opt', '..', '~/../other', '/home/user2'])('%j is refused', (path) => {
    expect(() => homePath(path, 'WORKDIR')).toThrow(/home directory/);
  });
});

describe('image references', () => {
  it.each([
    ['debian', { kind: 'registry', reference: 'debian', registry: 'docker.io' }],
    ['docker://ghcr.io/a/b:1', { kind: 'registry', reference: 'ghcr.io/a/b:1', registry: 'ghcr.io' }],
    ['localhost:5000/a:1', { kind: 'registry', reference: 'localhost:5000/a:1', registry: 'localhost:5000' }],
    ['library/debian:12', { kind: 'registry', reference: 'library/debian:12', registry: 'docker.io' }],
    ['oci:/images/a', { kind: 'oci', path: '/images/a', tag: undefined }],
    ['oci:/images/a:v1', { kind: 'oci', path: '/images/a', tag: 'v1' }],
    ['docker-archive:/i/a.tar:app:1', { kind: 'docker-archive', path: '/i/a.tar', tag: 'app:1' }],
  ])('reads %j', (text, expected) => {
    expect(parseImageReference(text)).toEqual(expected);
  });

  it.each(['--help', 'a b', '-v', 'oci:relative', 'a;b', '$(id)', ''])('refuses %j', (text) => {
    expect(() => parseImageReference(text)).toThrow();
  });
});

describe('upload links', () => {
  const keys = createKeyRing(Buffer.alloc(32, 1));
  const grant = { templateId: 't', hash: 'h', expiresAtMs: 1_000 };
  const refused = expect.objectContaining({ status: 403 });

  it('carry what they were made for until they expire', () => {
    expect(verifyUpload(keys, signUpload(keys, grant), 999)).toEqual(grant);
    expect(() => verifyUpload(keys, signUpload(keys, grant), 1_000)).toThrow(refused);
  });

  it.each(['', '.', 'a.b', 'a.b.c'])('%j is refused', (token) => {
    expect(() => verifyUpload(keys, token, 0)).toThrow(refused);
  });

  it('of another server are refused', () => {
    const foreign = signUpload(createKeyRing(Buffer.alloc(32, 2)), grant);
    expect(() => verifyUpload(keys, foreign, 0)).toThrow(refused);
  });
});

describe('cache keys', () => {
  const step = { type: 'run', args: ['a'] };
  it('depend on what came before, the type, the arguments and the files, and on nothing else', () => {
    const key = stepKey('base', step);
    expect(stepKey('base', { type: 'RUN', args: ['a'], force: true })).toBe(key);
    for (const other of [
      stepKey('other', step),
      stepKey('base', { ...step, type: 'ENV' }),
      stepKey('base', { ...step, args: ['a', ''] }),
      stepKey('base', { ...step, filesHash: 'f' }),
    ])
      expect(other).not.toBe(key);
  });
});

describe('lines of output', () => {
  it('are cut at line ends, however the bytes arrive', () => {
    const lines: string[] = [];
    const splitter = new LineSplitter((line) => lines.push(line));
    for (const byte of Buffer.from('eins\r\nzwölf\n\nrest')) splitter.push(Uint8Array.of(byte));
    splitter.end();
    expect(lines).toEqual(['eins', 'zwölf', '', 'rest']);
  });
});

describe('the queue of builds', () => {
  function jobs(queue: BuildQueue) {
    const log: string[] = [];
    const ends = new Map<string, () => void>();
    const add = (id: string) =>
      queue.add(id, (signal) => {
        log.push(`start ${id}${signal.aborted ? ' cancelled' : ''}`);
        if (signal.aborted) return Promise.resolve();
        return new Promise((resolve) => {
          ends.set(id, resolve);
          signal.addEventListener('abort', () => resolve());
        });
      });
    return { log, ends, add };
  }

  it('runs so many at once, the oldest first', async () => {
    const queue = new BuildQueue(2);
    const { log, ends, add } = jobs(queue);
    for (const id of ['a', 'b', 'c', 'd']) add(id);
    expect(log).toEqual(['start a', 'start b']);
    ends.get('b')!();
    await new Promise((resolve) => setImmediate(resolve));
    expect(log).toEqual(['start a', 'start b', 'start c']);
    await queue.close();
    expect(queue.size).toBe(0);
    expect(log.at(-1)).toBe('start d cancelled');
  });

  it('ends one that waits without making it run', async () => {
    const queue = new BuildQueue(1);
    const { log, add } = jobs(queue);
    add('a');
    add('b');
    await queue.cancel('b', new Error('enough'));
    expect(log).toEqual(['start a', 'start b cancelled']);
    expect(queue.size).toBe(1);
    await queue.close();
  });

  it('holds builds back while something needs that none runs', async () => {
    const queue = new BuildQueue(1);
    const { log, add } = jobs(queue);
    let release = () => {};
    const quiet = queue.whenIdle('rest', () => new Promise((resolve) => (release = resolve)));
    add('a');
    expect(log).toEqual([]);
    release();
    expect(await quiet).toBe(true);
    expect(log).toEqual(['start a']);
    expect(await queue.whenIdle('rest', async () => {})).toBe(false);
    await queue.close();
  });

  it('does once no build is there what was asked for meanwhile, once however often', async () => {
    const queue = new BuildQueue(1);
    const { log, ends, add } = jobs(queue);
    let release = () => {};
    const sweep = async () => {
      log.push('sweep');
      await new Promise<void>((resolve) => (release = resolve));
    };
    const turn = () => new Promise((resolve) => setImmediate(resolve));
    add('a');
    add('b');
    expect(await queue.whenIdle('sweep', sweep)).toBe(false);
    expect(await queue.whenIdle('sweep', sweep)).toBe(false);
    ends.get('a')!();
    await turn();
    expect(log).toEqual(['start a', 'start b']);
    ends.get('b')!();
    await turn();
    expect(log).toEqual(['start a', 'start b', 'sweep']);
    // A request that comes meanwhile may ask for more than it sees.
    expect(await queue.whenIdle('sweep', sweep)).toBe(false);
    add('c');
    release();
    await turn();
    expect(log.slice(3)).toEqual(['start c']);
    ends.get('c')!();
    await turn();
    expect(log.slice(4)).toEqual(['sweep']);
    release();
    await turn();
    expect(await queue.whenIdle('nothing', async () => {})).toBe(true);
    await queue.close();
  });

  it('leaves what was postponed to the next start when it closes', async () => {
    const queue = new BuildQueue(1);
    const { add } = jobs(queue);
    add('a');
    let done = 0;
    expect(await queue.whenIdle('sweep', async () => void (done += 1))).toBe(false);
    await queue.close();
    expect(done).toBe(0);
  });
});
