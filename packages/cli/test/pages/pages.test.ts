import { blocksOf } from '@svc/support/testing/code-blocks';
import { describe, expect, it } from 'vitest';
import { programsOf } from './program-of-page.js';
import { scriptOf } from './script-of-page.js';
import { differences, masked } from './shown-output.js';

const page = (...lines: string[]) => blocksOf('p.md', lines.join('\n'));

describe('the blocks of a page', () => {
  it('are found, with what their fences say', () => {
    expect(
      page(
        'a',
        '```ts',
        'let x;',
        '```',
        '````text',
        '```',
        '````',
        '   ```sh linux not-run: it hurts',
        '   b',
        '   ```',
      ),
    ).toEqual([
      { page: 'p.md', line: 3, language: 'ts', code: 'let x;' },
      { page: 'p.md', line: 6, language: 'text', code: '```', outputOf: 3 },
      { page: 'p.md', line: 9, language: 'sh', code: 'b', linux: true, notRun: 'it hurts' },
    ]);
  });

  it('stand in comments too, where readers do not see them', () => {
    expect(page('<!-- sh', 'ID=1', '-->', '', '```', 'not its output', '```')).toMatchObject([
      { language: 'sh', code: 'ID=1', hidden: true },
      { language: '', code: 'not its output' },
    ]);
  });

  it.each([
    ['```ts not-runn: why', /p\.md:1: a fence knows anew, linux, .* but not not-runn:/],
    ['```ts', /p\.md:1: the block does not end/],
  ])('%s is refused', (text, problem) => {
    expect(() => page(text, '', text.includes('not') ? '```' : '')).toThrow(problem);
  });
});

describe('the programs of a page', () => {
  it('have the lines of the page, and every block sees those above', () => {
    const blocks = page(
      '# P',
      '```ts',
      "import { a } from 'm';",
      'const x = a();',
      '```',
      '```js',
      'console.log(x); // 42',
      '```',
    );
    const [program, ...others] = programsOf(blocks, 8);
    expect(others).toEqual([]);
    expect(program!.text.split('\n')).toEqual([
      "import { a } from 'm'; ",
      '{ console.log("\\u0000line 2");',
      ' '.repeat("import { a } from 'm';".length),
      'const x = a();',
      '',
      '{ console.log("\\u0000line 6");',
      'console.log(x); console.log("\\u0000line 7");',
      '',
      '}} export {};',
    ]);
  });

  it('begin anew where a fence says so, and must where a name means something else', () => {
    const first = ['```ts', "import { a } from 'm';", '```'];
    const second = ["import { type T, a } from 'n';", '```'];
    expect(() => programsOf(page(...first, '```ts', ...second), 6)).toThrow('let the fence say `anew`');
    const programs = programsOf(page(...first, '```ts anew', ...second), 6);
    expect(programs.map(({ text }) => text.split('\n')[0]!.trim())).toEqual([
      'import { a } from \'m\'; { console.log("\\u0000line 1");',
      "import { type T } from 'n'; import { a } from 'n';",
    ]);
  });
});

describe('the script of a page', () => {
  const lines = (...text: string[]) => scriptOf('p.md', page(...text), text.length).split('\n');

  it('puts values for words in capitals that a hidden block sets', () => {
    const script = lines(
      '# P',
      '<!-- sh',
      'ID=1',
      '-->',
      '```sh',
      'svc cp ID:a $ID ID.svc APPID ID=2',
      '```',
    );
    expect(script[2]).toBe('ID=1');
    expect(script[5]).toBe('svc cp ${ID}:a $ID ${ID}.svc APPID ID=2');
  });

  it('interrupts what runs until Ctrl+C', () => {
    expect(lines('# P', '```sh', 'A=1 svc up  # until Ctrl+C', 'svc up', '```').slice(2, 4)).toEqual([
      'A=1 until-ctrl-c svc up  # until Ctrl+C',
      'svc up',
    ]);
  });

  it('types the commands of a transcript, and shows them', () => {
    expect(lines('# P', '```console', "$ echo 'a'", 'a', '```')[2]).toBe(
      `printf '%s\\n' '$ echo '\\''a'\\'''; echo 'a'`,
    );
  });
});

describe('what a page says that is printed', () => {
  const blocks = page('```ts', 'console.log(x); // 42', '```', '```', 'iy50byovt14z4rw6p1qjc  42', '```');
  const ran = [blocks[0]!];

  it('is compared, but for what differs from run to run', () => {
    expect(differences(blocks, ran, '\0line 1\niaaaaaaaaaaaaaaaaaaaa\n42\n\0line 2\n')).toEqual([]);
  });

  it.each([
    ['\0line 1\niaaaaaaaaaaaaaaaaaaaa\n43\n\0line 2\n', ['p.md:5: the page', 'p.md:2: the page']],
    ['\0line 1\niaaaaaaaaaaaaaaaaaaaa\n42\n\0line 2\nmore\n', ['p.md:5: the page']],
  ])('%j differs', (stdout, found) => {
    expect(differences(blocks, ran, stdout).map((each) => each.slice(0, found[0]!.length))).toEqual(found);
  });

  it.each([
    ['Ends in 4m 48s.', 'Ends in 5m.', true],
    ['http://127.0.0.1:3000/a', 'http://127.0.0.1:41779/a', true],
    ['svc_97****5c', 'svc_0123456789abcdef', true],
    ['2026-11-25T18:42:12.052Z by', '2027-01-01T00:00:00Z by', true],
    ['a1a83e64-eebf-4fb7-8e47-8e26c0576c27', '00000000-0000-0000-0000-000000000000', true],
    [
      `${'-'.repeat(96)}a1a8\n3e64-eebf-4fb7-8e47-8e26c0576c27`,
      `${'-'.repeat(96)}00000000-0000-0000-0000-000000000000`,
      true,
    ],
    ['2 entries', '3 entries', false],
  ])('%j and %j: the same: %j', (one, other, same) => {
    expect(masked(one) === masked(other)).toBe(same);
  });
});
