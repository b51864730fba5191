import { spawnSync } from 'node:child_process';
import { Readable } from 'node:stream';
import { DEFAULT_ARCHIVE_LIMITS } from '@svc/runtime/contract';
import { randomNumbers } from '@svc/runtime/testing';
import { describe, expect, it } from 'vitest';
import { readTar } from '../../src/templates/builds/files/tar.js';
import type { LocalImage } from '../../src/templates/builds/images/image.js';
import { squashImage } from '../../src/templates/builds/images/squash.js';
import { type TarFile, tarOf } from '../support/templates.js';

/** The result of an image's layers: path to content, link or directory. */
async function squashed(...layers: TarFile[][]): Promise<Record<string, string>> {
  const tars = await Promise.all(layers.map((entries) => tarOf(entries)));
  const image: LocalImage = { digest: 'd', env: [], layers: tars.map((tar) => () => Readable.from([tar])) };
  const result: Record<string, string> = {};
  for await (const { header, content } of readTar(
    await squashImage(image, DEFAULT_ARCHIVE_LIMITS, new AbortController().signal),
    {},
  )) {
    const chunks: Buffer[] = [];
    for await (const chunk of content) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString();
    const name = header.name.replace(/\/$/, '');
    if (['tmp', 'root', 'run'].includes(name)) continue;
    result[name] =
      header.type === 'file'
        ? text
        : header.type === 'directory'
          ? 'directory'
          : `${header.type} ${header.linkname}`;
  }
  return result;
}

const file = (name: string, content = name): TarFile => ({ name, content });
const directory = (name: string): TarFile => ({ name, type: 'directory' });
const symlink = (name: string, linkname: string): TarFile => ({ name, type: 'symlink', linkname });
const link = (name: string, linkname: string): TarFile => ({ name, type: 'link', linkname });

describe('the layers of an image', () => {
  it('replace and remove what is below them', async () => {
    expect(
      await squashed(
        [file('a', '1'), file('b', '1'), directory('d'), file('d/x'), directory('e'), file('e/x')],
        [file('a', '2'), file('.wh.b', ''), file('.wh.d', ''), file('e/.wh..wh..opq', ''), file('e/y')],
      ),
    ).toEqual({ a: '2', e: 'directory', 'e/y': 'e/y' });
  });

  it('remove only what is below them, in any order of their entries', async () => {
    expect(
      await squashed(
        [file('d/old')],
        [file('d/new'), file('d/.wh..wh..opq', ''), file('.wh.gone', ''), file('gone')],
      ),
    ).toEqual({ 'd/new': 'd/new', gone: 'gone' });
  });

  it('turn files into directories and back', async () => {
    expect(
      await squashed(
        [file('a'), directory('b'), file('b/x')],
        [directory('a'), file('a/y'), file('b', 'now')],
      ),
    ).toEqual({
      a: 'directory',
      'a/y': 'a/y',
      b: 'now',
    });
  });

  it('keep the content of a hard link whose first name is replaced', async () => {
    expect(await squashed([file('a', 'shared'), link('b', 'a'), link('c', 'b')], [file('a', 'new')])).toEqual(
      { a: 'new', b: 'shared', c: 'link b' },
    );
  });

  it('keep hard links whose names all stay', async () => {
    expect(await squashed([file('a', 'shared'), link('b', './a')])).toEqual({ a: 'shared', b: 'link a' });
  });

  it('follow links in the parents of later entries, never out of the image', async () => {
    expect(
      await squashed(
        [
          symlink('lib', 'usr/lib'),
          directory('usr/lib'),
          symlink('up', '../../../etc'),
          symlink('round', 'round'),
        ],
        [file('lib/a'), file('up/b'), file('round/c')],
      ),
    ).toMatchObject({ lib: 'symlink usr/lib', 'usr/lib/a': 'lib/a', 'etc/b': 'up/b' });
  });

  const TARGET = [directory('target'), file('target/keep'), directory('target/sub'), file('target/sub/deep')];
  const KEPT = { 'target/keep': 'target/keep', 'target/sub/deep': 'target/sub/deep' };

  it.each<[string, TarFile[], TarFile[]]>([
    ['an opaque directory', [symlink('link', '/target')], [directory('link'), file('link/.wh..wh..opq', '')]],
    [
      'an opaque directory, named after its marker',
      [symlink('link', 'target')],
      [file('link/.wh..wh..opq', ''), directory('link')],
    ],
    [
      'an opaque directory without an entry of its own',
      [symlink('link', 'target')],
      [file('link/.wh..wh..opq', '')],
    ],
    [
      'a directory with removals',
      [symlink('link', './target')],
      [directory('link'), file('link/.wh.keep', ''), file('link/.wh.sub', '')],
    ],
    [
      'a directory, named after its removals',
      [symlink('link', '/target')],
      [file('link/.wh.keep', ''), file('link/.wh.sub', ''), directory('link')],
    ],
    [
      'a directory with removals further down',
      [symlink('link', '/target')],
      [directory('link'), directory('link/sub'), file('link/sub/.wh.deep', '')],
    ],
    [
      'a directory, opaque further down',
      [symlink('link', '/target')],
      [file('link/sub/.wh..wh..opq', ''), directory('link/sub'), directory('link')],
    ],
    [
      'the end of a chain of links',
      [symlink('one', 'link'), symlink('link', 'two'), symlink('two', 'target')],
      [directory('link'), file('one/.wh.keep', ''), file('link/.wh..wh..opq', '')],
    ],
    [
      'a link to the root',
      [symlink('link', '/')],
      [directory('link'), file('link/.wh.target', ''), file('link/.wh..wh..opq', '')],
    ],
    [
      'a link that leads up',
      [directory('d'), symlink('d/link', '..')],
      [directory('d'), directory('d/link'), file('d/link/.wh.target', '')],
    ],
    [
      'a link behind a link that stays',
      [directory('real'), symlink('real/link', '/target'), symlink('way', 'real')],
      [directory('way/link'), file('way/link/.wh..wh..opq', '')],
    ],
    ['a file', [symlink('link', 'target')], [file('link/.wh.keep', ''), file('link', 'now')]],
    [
      'another link',
      [symlink('link', 'target')],
      [symlink('link', 'elsewhere'), file('link/.wh.keep', ''), file('link/.wh..wh..opq', '')],
    ],
    ['nothing', [symlink('link', 'target')], [file('.wh.link', '')]],
    [
      'a link of the same layer',
      [directory('other')],
      [symlink('link', 'target'), file('link/.wh.keep', ''), file('link/.wh..wh..opq', '')],
    ],
    ['what is not there', [symlink('link', 'nowhere')], [directory('link'), file('link/.wh..wh..opq', '')]],
  ])('keep what a link led to that a layer replaces by %s', async (_, lower, upper) => {
    expect(await squashed([...TARGET, ...lower], upper)).toMatchObject(KEPT);
  });

  it('put what a layer has in a directory there, and not where a link of that name led', async () => {
    expect(
      await squashed(
        [...TARGET, symlink('link', 'target')],
        [file('link/new', '1'), directory('link'), file('link/.wh..wh..opq', ''), file('link/keep', '2')],
      ),
    ).toEqual({
      target: 'directory',
      'target/sub': 'directory',
      ...KEPT,
      link: 'directory',
      'link/new': '1',
      'link/keep': '2',
    });
  });

  it('remove through a link that no layer replaces', async () => {
    expect(await squashed([...TARGET, symlink('link', 'target')], [file('link/.wh.sub', '')])).toEqual({
      target: 'directory',
      'target/keep': 'target/keep',
      link: 'symlink target',
    });
  });

  it('remove everything by an opaque root, and nothing by names that only look like markers', async () => {
    expect(await squashed([...TARGET, file('a')], [file('.wh..wh..opq', ''), file('b')])).toEqual({ b: 'b' });
    expect(
      await squashed([file('d/a')], [file('d/.wh..wh..opqX', ''), file('d/.wh.', ''), file('.wh.', '')]),
    ).toEqual({ 'd/a': 'd/a' });
  });

  it('make a directory anew that they remove', async () => {
    expect(
      await squashed(
        [file('d/old')],
        [directory('d'), file('d/new'), file('.wh.d', '')],
        [file('d/.wh.new', '')],
      ),
    ).toEqual({ d: 'directory' });
  });

  it('keep the content of a hard link whose first name they remove', async () => {
    const lower = [file('a', 'shared'), link('b', 'a'), directory('dir'), file('dir/x'), symlink('l', 'dir')];
    expect(await squashed(lower, [file('.wh.a', '')])).toMatchObject({ b: 'shared' });
    // The link is made of what was below, whenever the marker comes.
    expect(await squashed(lower, [file('.wh.a', ''), link('c', 'a')])).toMatchObject({
      b: 'shared',
      c: 'link b',
    });
    expect(
      await squashed(lower, [directory('l'), link('l/y', 'l/x'), file('l/.wh..wh..opq', '')]),
    ).toMatchObject({ 'dir/x': 'dir/x', 'l/y': 'link dir/x' });
    expect(await squashed(lower, [link('to-directory', 'dir')])).not.toHaveProperty('to-directory');
  });

  it('lose devices and names that lead out', async () => {
    expect(
      await squashed([
        { name: 'dev/null', type: 'character-device', devmajor: 1, devminor: 3 },
        file('../out'),
        file('/abs'),
        file('in'),
      ]),
    ).toEqual({ abs: '/abs', in: 'in' });
  });
});

/** The entry of a layer at a name. `hidden`: a directory that hides what is below it; `gone`: a removed entry. */
type Piece =
  | { kind: 'file'; text: string }
  | { kind: 'link'; text: string }
  | { kind: 'gone' }
  | { kind: 'directory' | 'hidden'; in: Layer };
type Layer = { [name: string]: Piece };

/** Mounts layers over each other by overlayfs, for each list of them, and tells what is to be seen. */
const OVERLAY = `
import json, os, subprocess, sys
os.makedirs(sys.argv[1], exist_ok=True)
subprocess.run(['mount', '-t', 'tmpfs', 'overlay-test', sys.argv[1]], check=True)
def make(directory, layer):
    os.mkdir(directory)
    for name, piece in layer.items():
        at = os.path.join(directory, name)
        if piece['kind'] in ('directory', 'hidden'):
            make(at, piece['in'])
            if piece['kind'] == 'hidden': os.setxattr(at, b'trusted.overlay.opaque', b'y')
        elif piece['kind'] == 'file': open(at, 'w').write(piece['text'])
        elif piece['kind'] == 'link': os.symlink(piece['text'], at)
        else: os.mknod(at, 0o600 | 0o020000, 0)
def seen(directory, path, found):
    for name in os.listdir(directory):
        at, to = os.path.join(directory, name), os.path.join(path, name)
        if os.path.islink(at): found[to] = 'symlink ' + os.readlink(at)
        elif os.path.isdir(at):
            found[to] = 'directory'
            seen(at, to, found)
        # A directory of one layer alone lists what that layer marks as gone.
        elif os.path.exists(at): found[to] = open(at).read()
    return found
results = []
for number, layers in enumerate(json.load(sys.stdin)):
    top = os.path.join(sys.argv[1], str(number))
    os.mkdir(top)
    for index, layer in enumerate(layers): make(os.path.join(top, str(index)), layer)
    lower = ':'.join(os.path.join(top, str(index)) for index in reversed(range(len(layers))))
    view = os.path.join(top, 'view')
    os.mkdir(view)
    subprocess.run(['mount', '-t', 'overlay', 'overlay', '-o', 'lowerdir=' + lower, view], check=True)
    results.append(seen(view, '', {}))
    subprocess.run(['umount', view], check=True)
print(json.dumps(results))
`;

function overlaid(images: Layer[][]) {
  const words = ['--mount', 'python3', '-c', OVERLAY, '/mnt'];
  return spawnSync('unshare', words, { input: JSON.stringify(images), maxBuffer: 2 ** 26 });
}

const able = overlaid([[{}, {}]]).status === 0;
if (!able) console.warn('Layers beside overlayfs: skipped, it takes root, overlayfs and python3');

describe.skipIf(!able)('layers in any order of their entries', () => {
  const random = randomNumbers(20_261_128);
  const pick = <T>(all: readonly T[]): T => all[Math.floor(random() * all.length)]!;
  let files = 0;

  function randomLayer(lowest: boolean, depth = 0): Layer {
    const layer: Layer = {};
    for (const name of ['a', 'b', 'c']) {
      const kind = pick(['file', 'link', 'link', 'gone', 'directory', 'directory', 'hidden', '', '', '']);
      if (kind === 'file') layer[name] = { kind, text: `file ${++files}` };
      else if (kind === 'link')
        layer[name] = { kind, text: pick(['/', '..', 'a', '/b', '../c', 'b/a', '/c/b']) };
      else if (kind === 'gone' && !lowest) layer[name] = { kind };
      else if ((kind === 'directory' || kind === 'hidden') && depth < 3)
        layer[name] = { kind: lowest ? 'directory' : kind, in: randomLayer(lowest, depth + 1) };
    }
    return layer;
  }

  function entriesOf(layer: Layer, above = ''): TarFile[] {
    return Object.entries(layer).flatMap(([name, piece]): TarFile[] => {
      const removed = file(`${above}.wh.${name}`, '');
      if (piece.kind === 'gone') return [removed];
      // A replacement may be written with the removal, or without.
      const again = random() < 0.5 ? [removed] : [];
      if (piece.kind === 'file') return [...again, file(above + name, piece.text)];
      if (piece.kind === 'link') return [...again, symlink(above + name, piece.text)];
      const marker = random() < 0.5 ? removed : file(`${above}${name}/.wh..wh..opq`, '');
      const hiding = piece.kind === 'hidden' ? [marker] : [];
      return [...hiding, directory(above + name), ...entriesOf(piece.in, `${above}${name}/`)];
    });
  }

  it('come to what overlayfs shows of them', async () => {
    const images = Array.from({ length: 120 }, () => [
      randomLayer(true),
      ...Array.from({ length: pick([1, 2, 3]) }, () => randomLayer(false)),
    ]);
    const shown = overlaid(images);
    expect(String(shown.stderr)).toBe('');
    const expected = JSON.parse(String(shown.stdout));
    for (const [index, layers] of images.entries()) {
      const written = layers.map((layer) => {
        const order = entriesOf(layer).map((entry) => [random(), entry] as const);
        return order.sort(([one], [other]) => one - other).map(([, entry]) => entry);
      });
      const told = JSON.stringify(
        written.map((entries) => entries.map(({ name, linkname }) => [name, linkname])),
      );
      expect(await squashed(...written), told).toEqual(expected[index]);
    }
  });
});
