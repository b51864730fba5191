import { Readable } from 'node:stream';
import { DEFAULT_ARCHIVE_LIMITS } from '@svc/runtime';
import { describe, expect, it } from 'vitest';
import { readTar } from '../../src/builds/files/tar.js';
import type { LocalImage } from '../../src/builds/images/image.js';
import { squashImage } from '../../src/builds/images/squash.js';
import { type TarFile, tarOf } from '../support/templates.js';

/** What an image's layers come to: path to content, link or directory. */
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

  it('remove only what is below them, whatever the order of their entries', async () => {
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
