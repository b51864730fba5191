import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { InvalidRequestError, Template } from '../../src/index.js';
import { fromDockerIgnore } from '../../src/templates/copy-files.js';
import { compileGlob } from '../../src/templates/glob.js';

const steps = (text: string, buildArgs?: Record<string, string>) =>
  Template.fromDockerfile(text, { buildArgs })
    .definition.steps.slice(2)
    .map(({ type, args }) => [type, ...args]);

describe('Template.fromDockerfile', () => {
  it('follows the usual instructions', () => {
    const template = Template.fromDockerfile(`# syntax=docker/dockerfile:1
ARG VERSION=3.12
FROM python:\${VERSION}-slim AS app
LABEL a=b
ENV A=1 B="two words"
ENV OLD style value
ARG NAME=world
WORKDIR /app
COPY --chown=app:app --chmod=755 a.txt b.txt dest/
COPY ["with space.txt", "/x/"]
RUN apt-get update && \\
    # a comment between

    apt-get install -y curl
RUN ["echo", "it's"]
USER app:app
EXPOSE 80
ENTRYPOINT ["python", "-m", "http.server"]
CMD ["8000"]
`);
    expect(template.definition.base).toMatchObject({ image: 'python:3.12-slim' });
    expect(template.definition.startCommand).toMatch(/python'? '?-m'? '?http\.server'? '?8000/);
    expect(template.definition.steps.map(({ type, args }) => [type, ...args])).toEqual([
      ['USER', 'root'],
      ['WORKDIR', '/'],
      ['ENV', 'A', '1', 'B', 'two words'],
      ['ENV', 'OLD', 'style value'],
      ['ARG', 'NAME', 'world'],
      ['WORKDIR', '/app'],
      ['COPY', 'a.txt', 'dest/', 'app:app', '755'],
      ['COPY', 'b.txt', 'dest/', 'app:app', '755'],
      ['COPY', 'with space.txt', '/x/'],
      ['RUN', expect.stringMatching(/^apt-get update && +apt-get install -y curl$/)],
      ['RUN', expect.stringContaining('echo')],
      ['USER', 'app'],
    ]);
  });

  it('puts in the values of variables and build arguments', () => {
    const text = 'FROM a\nARG V=1\nENV P=/opt/$V/${X:-none}\nWORKDIR $P\nCOPY x ${P}/y';
    expect(steps(text, { V: '2' })).toEqual([
      ['ARG', 'V', '2'],
      ['ENV', 'P', '/opt/2/none'],
      ['WORKDIR', '/opt/2/none'],
      ['COPY', 'x', '/opt/2/none/y'],
    ]);
  });

  it('reads here-documents', () => {
    expect(steps('FROM a\nRUN <<EOF\necho 1\necho 2\nEOF\nRUN cat <<-X > f\n\tin\n\tX\nRUN true')).toEqual([
      ['RUN', 'set -e\necho 1\necho 2'],
      ['RUN', 'cat <<-X > f\nin\nX'],
      ['RUN', 'true'],
    ]);
  });

  it('reads a file and takes its directory as the context', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'svc-dockerfile-'));
    try {
      await writeFile(join(directory, 'Dockerfile'), 'FROM debian:12\nCOPY . /src/\n');
      const { definition } = Template.fromDockerfile(join(directory, 'Dockerfile'));
      expect(definition.contextDir).toBe(directory);
      expect(() => Template.fromDockerfile(join(directory, 'Nope'))).toThrow(/Nope cannot be read/);
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  });

  it.each([
    ['RUN x\nFROM a', 1, 'comes before FROM'],
    ['# only\n\nARG A', 1, 'no FROM'],
    ['FROM a\n\n\nFROM b', 4, 'several stages'],
    ['FROM scratch', 1, 'scratch'],
    ['FROM a\nCOPY --from=build /x /y', 2, '--from'],
    ['FROM a\nRUN true \\\n  && true\nADD https://x.test/y /z', 4, 'curl'],
    ['FROM a\nADD x.tar.gz /', 2, 'unpack'],
    ['FROM a\nCOPY x', 2, 'a source and a target'],
    ['FROM a\nENV A', 2, 'has no value'],
    ['FROM a\nENV A=1 B', 2, 'NAME=value'],
    ['FROM a\nENV A="1', 2, 'not closed'],
    ['FROM a\nUSER 1000', 2, 'number'],
    ['FROM a\nRUN <<EOF\nx', 2, 'no end'],
    ['FROM a\nRNU x', 2, 'RNU is no instruction'],
    ['FROM a\nONBUILD RUN x', 2, 'ONBUILD'],
    ['FROM a\n%%', 2, 'no instruction'],
  ])('names the line of %j', (text, line, words) => {
    const read = () => Template.fromDockerfile(`${text}\n`);
    expect(read).toThrow(InvalidRequestError);
    expect(read).toThrow(new RegExp(`^Dockerfile line ${line}: .*${words}`));
  });
});

describe('the builder', () => {
  it('leaves what it is called on as it was', () => {
    const base = Template.from('base').run('one');
    base.run('two');
    expect(base.definition.steps).toHaveLength(1);
  });

  it('breaks the cache from the step that follows', () => {
    const { steps: made } = Template.from('base').run('one').skipCache().run('two').run('three').definition;
    expect(made.map(({ force }) => force)).toEqual([false, true, false]);
  });

  it('refuses empty texts and several sources for one file', () => {
    expect(() => Template.from('base').run(' ')).toThrow(InvalidRequestError);
    expect(() => Template.from('base').copy(['a', 'b'], 'c')).toThrow(/write "c\/"/);
  });
});

it.each([
  ['*.ts', ['a.ts'], ['a/b.ts', 'a.tsx']],
  ['src/**', ['src/a', 'src/a/b'], ['src']],
  ['**/x', ['x', 'a/b/x'], ['ax']],
  ['[a-c]?.[!t]s', ['b1.js'], ['d1.js', 'b1.ts', 'b/.js']],
])('matches the pattern %s as the service does', (pattern, fits, differs) => {
  const matches = compileGlob(pattern);
  expect(fits.filter(matches)).toEqual(fits);
  expect(differs.filter(matches)).toEqual([]);
});

it('anchors the patterns of .dockerignore at the context', () => {
  expect(fromDockerIgnore('# c\n\nnode_modules\n!keep/this/\n./x\n**/*.log')).toEqual([
    '/node_modules',
    '!/keep/this',
    '/x',
    '/**/*.log',
  ]);
});
