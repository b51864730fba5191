import { spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expandStepText, parseStepText } from '@svc/platform';
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

  it('leaves variables to the service, which knows those of the image', () => {
    const text =
      'FROM a\nARG V=1\nENV PATH=/opt/$V/bin:$PATH\nWORKDIR "$P/a b"\nUSER $U\nCOPY --chown=$U:$G x ${P}/y';
    expect(steps(text)).toEqual([
      ['ARG', 'V', '1'],
      ['ENV', 'PATH', '/opt/${V}/bin:${PATH}'],
      ['WORKDIR', '${P}/a b'],
      ['USER', '${U}'],
      ['COPY', 'x', '${P}/y', '${U}:${G}'],
    ]);
  });

  /** Returns the values that steps come to, as the service follows them on an image with these variables. */
  function valuesOf(text: string, image: Record<string, string> = {}, buildArgs?: Record<string, string>) {
    const env: Record<string, string> = { ...image };
    const args: Record<string, string> = {};
    for (const [type, ...words] of steps(text, buildArgs))
      for (let at = 0; at < words.length; at += 2) {
        const values: Record<string, string | undefined> = { TARGETARCH: 'amd64', ...args, ...env };
        const value = expandStepText(parseStepText(words[at + 1]!), (name) => values[name]);
        (type === 'ENV' ? env : args)[words[at]!] = value;
      }
    return { ...args, ...env };
  }

  it.each<[string, Record<string, string>]>([
    ['ENV P=/opt/bin:$PATH', { P: '/opt/bin:/image' }],
    ['ENV P="/opt/bin:${PATH}" Q=$PATH', { P: '/opt/bin:/image', Q: '/image' }],
    ['ENV P /opt/bin:$PATH', { P: '/opt/bin:/image' }],
    ['ENV PATH=/opt/bin:$PATH', { PATH: '/opt/bin:/image' }],
    ['ENV P a  "b c"   $I', { P: 'a  b c   in the image' }],
    [
      'ENV P="$I" Q=\'$I\' R=\\$I S="\\$I" T="\'$I\'"',
      {
        P: 'in the image',
        Q: '$I',
        R: '$I',
        S: '$I',
        T: "'in the image'",
      },
    ],
    [
      'ENV A=1\nENV B=\\$A C="\\$A" D=\'$A\' E="x \\$A"\nENV F=$B$E',
      {
        B: '$A',
        C: '$A',
        D: '$A',
        E: 'x $A',
        F: '$Ax $A',
      },
    ],
    ['ENV A=1\nENV A=2 B=$A', { A: '2', B: '1' }],
    ['ENV A=1 B=2\nENV C=$B B=$A A=3 D=$C', { A: '3', B: '1', C: '2', D: '' }],
    ['ENV A=1 A=2', { A: '2' }],
    ['ARG A=arg\nENV A=env\nENV B=$A', { A: 'env', B: 'env' }],
    ['ARG I=arg\nENV B=$I', { B: 'in the image' }],
    ['ARG A=1 B=$A\nENV C=$A$B', { C: '11' }],
    ['ARG A\nENV B=[$A]', { B: '[]' }],
    ['ARG G\nENV B=$G', { B: 'global' }],
    ['ENV B=$G', { B: '' }],
    ['ARG G=own\nENV B=$G', { B: 'own' }],
    ['ARG GIVEN=default\nENV B=$GIVEN', { B: 'co$t' }],
    ['ARG GIVEN\nENV B=$GIVEN', { B: 'co$t' }],
    ['ARG TARGETARCH\nENV B=$TARGETARCH', { B: 'amd64' }],
    ['ENV J=${U:-${U:-d}} K=${I:+${U-x}} L=${U-${I}}', { J: 'd', K: 'x', L: 'in the image' }],
    ['ENV E=\nENV A=${E-x} B=${E:-x} C=${E+y} D=${E:+y}', { A: '', B: 'x', C: 'y', D: '' }],
    [
      'ENV V=v1.2.3\nENV A=${V#v} B=${V%.*} C=${V%%.*} D=${V##*.}',
      { A: '1.2.3', B: 'v1.2', C: 'v1', D: '3' },
    ],
    ['ENV A=b\\ c\\\\d "E"=f', {}],
    ['ENV A=b\\ c\\\\d', { A: 'b c\\d' }],
    ['ENV A=1 \\\n  # between\n\n  B=two\\\\\nENV C=3', { A: '1', B: 'two\\', C: '3' }],
    ['ENV A="$(id) `id` 100$ a}b"', { A: '$(id) `id` 100$ a}b' }],
  ])('%j gives %j', (lines, expected) => {
    const read = () =>
      valuesOf(`ARG G=global\nFROM a\n${lines}`, { PATH: '/image', I: 'in the image' }, { GIVEN: 'co$t' });
    if (Object.keys(expected).length === 0) expect(read).toThrow(/line 3: ""E"" is no name/);
    else expect(read()).toMatchObject(expected);
  });

  it('has the values that are needed on this machine: the image, sources, modes', () => {
    const text =
      'ARG V=1 W=${V}2\nFROM a:${W%2}-${X:-x}\nARG V\nENV D=d$V\nCOPY --chmod=${M:-0644} ${D}/"a b" x$V /t/';
    const { definition } = Template.fromDockerfile(text.replace('M:-', 'D:+'), { buildArgs: { V: '7' } });
    expect(definition.base).toMatchObject({ image: 'a:7-x' });
    expect(definition.steps.at(-2)?.args).toEqual(['d7/a b', '/t/', '', '644']);
    expect(definition.steps.at(-1)?.args[0]).toBe('x7');
    expect(() => steps('FROM a\nENV P=/x:$PATH\nCOPY $P /y')).toThrow(
      /line 3: P is not known before the build/,
    );
    expect(() => steps('FROM a\nCOPY ${P:-x} /y')).toThrow(/line 2: P is not known before the build/);
  });

  it('starts from the template base by its name, and from images by all others', () => {
    expect(Template.fromDockerfile('FROM base\nRUN true').definition.base).toEqual({ template: 'base' });
    expect(Template.fromDockerfile('FROM base:1\nRUN true').definition.base).toMatchObject({
      image: 'base:1',
    });
  });

  it.each<[string, string | undefined]>([
    ['CMD npm start', 'npm start'],
    ['CMD ["npm", "it\'s"]', "npm 'it'\\''s'"],
    ['ENTRYPOINT ["/e"]\nCMD npm start && echo hi', "/e /bin/sh -c 'npm start && echo hi'"],
    ['CMD ["a"]\nENTRYPOINT ["/e", "x"]', '/e x a'],
    ['ENTRYPOINT exec top\nCMD ["-b"]', 'exec top'],
    ['ENTRYPOINT ["/e"]\nENTRYPOINT []\nCMD x', 'x'],
    ['SHELL ["/bin/bash", "-ec"]\nCMD a | b', "/bin/bash -ec 'a | b'"],
    ['RUN true', undefined],
  ])('%j starts %j', (lines, expected) => {
    expect(Template.fromDockerfile(`FROM a\n${lines}`).definition.startCommand).toBe(expected);
  });

  it('runs commands by the shell that the file names', () => {
    const text =
      'FROM a\nRUN 1\nSHELL ["/bin/bash", "-o", "pipefail", "-c"]\nRUN false | true\nRUN ["x", "y z"]';
    expect(steps(text)).toEqual([
      ['RUN', '1'],
      ['RUN', "/bin/bash -o pipefail -c 'false | true'"],
      ['RUN', "x 'y z'"],
    ]);
  });

  it('reports instructions without an effect, with their place', () => {
    const { warnings } = Template.fromDockerfile(
      'FROM a\nLABEL a=b\nEXPOSE 80\nHEALTHCHECK --interval=5s CMD x\nVOLUME /data\nSTOPSIGNAL INT\nRUN --mount=type=cache,target=/c --network=default true',
    ).definition;
    expect(warnings.map((text) => text.slice(0, 34))).toEqual([
      'Dockerfile line 4: HEALTHCHECK has',
      'Dockerfile line 5: VOLUME has no e',
      'Dockerfile line 6: STOPSIGNAL has ',
      'Dockerfile line 7: RUN --mount=typ',
    ]);
  });

  it('takes for here-documents what shells do', () => {
    expect(
      steps(
        'FROM a\nRUN N=3; echo $((1<<N)) "a <<EOF b" \'<<X\' \\<<Y <<<Z\nRUN cat <<"A" 3<<-B\n$x\nA\n\tb\n\tB\nRUN <<E\nE',
      ),
    ).toEqual([
      ['RUN', 'N=3; echo $((1<<N)) "a <<EOF b" \'<<X\' \\<<Y <<<Z'],
      ['RUN', 'cat <<"A" 3<<-B\n$x\nA\nb\nB'],
      ['RUN', 'set -e\n'],
    ]);
  });

  it('runs a here-document by the program of its first line', () => {
    const [[, command] = []] = steps(
      'FROM a\nRUN <<EOF\n#!/bin/sh -eu\ncat <<END\n$# $(basename "$0" | cut -c1-4)\nEND\nfalse\necho not this\nEOF',
    );
    const ran = spawnSync('sh', ['-c', command!]);
    expect([String(ran.stdout), ran.status]).toEqual(['0 tmp.\n', 1]);
  });

  it('has the escape that the file names', () => {
    expect(steps('# escape=`\nFROM a\nENV A=C:\\x `\n  B=`$A\nRUN echo \\')).toEqual([
      ['ENV', 'A', 'C:\\x', 'B', '\\$A'],
      ['RUN', 'echo \\'],
    ]);
    expect(steps('# a comment\n# escape=`\nFROM a\nRUN a \\\n b')).toEqual([['RUN', 'a  b']]);
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
    ['FROM a\nCOPY --exclude=*.md . /x', 2, 'COPY --exclude is not supported'],
    ['FROM a\nCOPY --parents a /x', 2, 'COPY --parents is not supported'],
    ['FROM a\nADD --checksum=sha256:1 a /x', 2, 'ADD --checksum is not supported'],
    ['FROM a\n\nRUN --network=none true', 3, '--network=none is not supported'],
    ['FROM a\nRUN --security=insecure true', 2, 'RUN --security is not supported'],
    ['FROM a\nRUN --mount=type=secret,id=x true', 2, '--mount=type=secret is not supported'],
    ['FROM a\nRUN --mount=type=cache,target=/c --mount=source=a,target=/a true', 2, 'type=bind is not'],
    ['FROM a\nENV --x A=1', 2, 'ENV --x is not supported'],
    ['FROM a\nUSER app:www', 2, 'the group of their own name'],
    ['FROM a\nSHELL /bin/sh', 2, 'JSON form'],
    ['FROM a\nARG', 2, 'needs a name'],
    ['FROM a\nENV A=${B^^}', 2, 'no variable that is known'],
    ['FROM a\nENV A=${B:-x y}', 2, 'not closed'],
    ['FROM a\nENV A="${B-x"', 2, 'not closed'],
    ['FROM a\nENV A=$1', 2, 'no variable that is known'],
    ['FROM a\nENV A=$B B=$A', 2, 'use each other'],
    ['FROM a\nARG X=\nENV A="${X:?give X}"', 3, 'X: give X'],
    ['FROM a-$1', 1, 'no variable that is known'],
    ['FROM a\nRUN cat<<EOF\nx y\nEOF', 3, 'X is no instruction'],
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
