import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { toJson } from '../../src/storage/json.js';
import { startTestServer, type TestServer } from '../support/server.js';
import { build, createTemplate, ended, runIn, start, status, upload } from '../support/templates.js';

let test: TestServer;
beforeAll(async () => {
  test = await startTestServer({ tuning: { builds: { readyIntervalMs: 50, startWaitMs: 50 } } });
});
afterAll(() => test[Symbol.asyncDispose]());

describe('builds on the process driver', () => {
  it('runs commands, keeps what they wrote, and starts sandboxes from it', async () => {
    const made = await build(test, 'plain', {
      steps: [
        { type: 'run', args: ['echo hello > greeting; echo printed; echo complained >&2'] },
        { type: 'ENV', args: ['GREETING', 'hi', 'LOUD', '$GREETING!'] },
        { type: 'RUN', args: ['echo "$LOUD" > loud'] },
      ],
    });
    expect(made.log).toEqual(expect.arrayContaining(['printed', 'complained', 'the build is ready']));
    expect(await runIn(test, 'plain', 'cat greeting loud; echo $LOUD')).toBe('hello\nhi!\nhi!');
  });

  it('keeps ARG out of sandboxes', async () => {
    await build(test, 'args', {
      steps: [
        { type: 'ARG', args: ['VERSION', '7'] },
        { type: 'ENV', args: ['APP', 'app-${VERSION}'] },
        { type: 'RUN', args: ['echo $VERSION > version'] },
      ],
    });
    expect(await runIn(test, 'args', 'cat version; echo "$APP,$VERSION"')).toBe('7\napp-7,');
  });

  it('puts variables into texts once: of sandboxes before arguments, and none again in values', async () => {
    const made = await build(test, 'texts', {
      steps: [
        { type: 'ARG', args: ['A', 'arg', 'V', 'v1.2'] },
        { type: 'ENV', args: ['A', 'env', 'LITERAL', '\\$A', 'B', '${U:-${A}}-${V#v}'] },
        { type: 'ENV', args: ['TWICE', '$LITERAL', 'OVER', '${A}'] },
        { type: 'WORKDIR', args: ['${U-in}/$B'] },
        { type: 'RUN', args: ['echo "$A,$V" > seen; pwd >> seen'] },
      ],
    });
    expect(made.log).toContain('[4/5] WORKDIR ${U-in}/$B');
    expect(await runIn(test, 'texts', 'cat seen; echo "$LITERAL,$B,$TWICE,$OVER"')).toMatch(
      /^env,v1.2\n\S*\/in\/env-1.2\n\$A,env-1.2,\$A,env$/,
    );
  });

  it('copies files: one, a directory, by pattern, with a new name', async () => {
    const created = await createTemplate(test, { name: 'copies' });
    const filesHash = await upload(test, created.templateID, [
      { name: 'app', type: 'directory' },
      { name: 'app/main.js', content: 'main' },
      { name: 'app/lib/a.js', content: 'a' },
      { name: 'app/lib/link', type: 'symlink', linkname: 'a.js' },
      { name: 'notes.txt', content: 'notes' },
    ]);
    await start(test, created, {
      fromTemplate: 'base',
      steps: [
        { type: 'COPY', args: ['app', 'code/'], filesHash },
        { type: 'COPY', args: ['notes.txt', 'renamed'], filesHash },
        { type: 'COPY', args: ['./notes.txt', 'code/', '', '0600'], filesHash },
        { type: 'COPY', args: ['app/**/*.js', 'flat'], filesHash },
        { type: 'WORKDIR', args: ['code/lib'] },
        { type: 'ADD', args: ['notes.txt', '.'], filesHash },
      ],
    });
    expect(await ended(test, created)).toMatchObject({ status: 'ready' });
    expect(
      await runIn(
        test,
        'copies',
        'cd; cat code/main.js code/lib/link renamed code/lib/notes.txt; stat -c %a code/notes.txt; ls flat; ls -a | grep build; readlink code/lib/link',
      ),
    ).toBe('mainanotesnotes600\na.js\nmain.js\na.js');
  });

  it('takes steps from the cache until one is forced', async () => {
    const steps = [
      { type: 'RUN', args: ['date +%s%N > one'] },
      { type: 'RUN', args: ['date +%s%N > two'] },
    ];
    await build(test, 'cached', { steps });
    const first = await runIn(test, 'cached', 'cat one two');
    const again = await build(test, 'cached', { steps });
    expect(again.log.filter((line) => line === 'taken from the cache')).toHaveLength(2);
    expect(await runIn(test, 'cached', 'cat one two')).toBe(first);
    await build(test, 'cached', { steps: [steps[0], { ...steps[1], force: true }] });
    const [one, two] = (await runIn(test, 'cached', 'cat one two')).split('\n');
    expect(one).toBe(first.split('\n')[0]);
    expect(two).not.toBe(first.split('\n')[1]);
    await build(test, 'cached', { steps, force: true });
    expect(await runIn(test, 'cached', 'cat one')).not.toBe(one);
  });

  it('fails at the step whose command fails, with what it complained about', async () => {
    const created = await createTemplate(test, { name: 'failing' });
    await start(test, created, {
      fromTemplate: 'base',
      steps: [
        { type: 'RUN', args: ['true'] },
        { type: 'RUN', args: ['echo broken >&2; exit 3'] },
      ],
    });
    const end = await ended(test, created);
    expect(end).toMatchObject({
      status: 'error',
      reason: { step: '2', message: 'the command ended with exit status 3: echo broken >&2; exit 3' },
    });
    expect(end.reason.logEntries.map((entry: { message: string }) => entry.message)).toContain('broken');
    expect((await test.api('POST', '/v2/sandboxes', { templateID: 'failing' })).status).toBe(404);
  });

  it.each([
    ['an unknown instruction', { type: 'FROBNICATE' }, /'FROBNICATE' is no instruction/],
    ['ENV with an odd number of arguments', { type: 'ENV', args: ['A'] }, /pairs/],
    [
      'ENV with a form of a variable that is not known',
      { type: 'ENV', args: ['A', '${B^^}'] },
      /ENV A: "\$\{B\^\^/,
    ],
    ['ENV that asks for a value', { type: 'ENV', args: ['A', '${B:?give B}'] }, /ENV A: B: give B/],
    [
      'ENV whose patterns would hold the server up',
      { type: 'ENV', args: ['A', 'a'.repeat(100_000), 'B', `\${A##${'*'.repeat(1_000)}}`] },
      /ENV B: patterns .* take too long/,
    ],
    [
      'ENV whose patterns do so together',
      { type: 'ENV', args: ['A', 'a'.repeat(100_000), ...Array(300).fill(['B', '${A%x}']).flat()] },
      /ENV B: patterns .* take too long/,
    ],
    [
      'ENV with more than programs can be started with',
      {
        type: 'ENV',
        args: ['A', 'a'.repeat(100_000), ...Array.from({ length: 10 }, (_, i) => [`B${i}`, '$A']).flat()],
      },
      /ENV B8: the variables of the build become longer/,
    ],
    ['WORKDIR with an open brace', { type: 'WORKDIR', args: ['a/${B:-'] }, /WORKDIR: a \$\{ is not closed/],
    ['USER of a variable that is no name', { type: 'USER', args: ['${B}'] }, /'' is not a user name/],
    ['COPY without files', { type: 'COPY', args: ['a', 'b'] }, /filesHash/],
    [
      'COPY of files that nobody uploaded',
      { type: 'COPY', args: ['a', 'b'], filesHash: 'a'.repeat(64) },
      /uploaded/,
    ],
    ['a user that plain processes cannot be', { type: 'USER', args: ['deploy'] }, /plain processes/],
    ['a working directory outside the home', { type: 'WORKDIR', args: ['/opt/app'] }, /linux driver/],
    ['a command of an unknown user', { type: 'RUN', args: ['true', 'nobody-here'] }, /unknown user/],
  ])('fails clearly on %s', async (_what, step, message) => {
    const created = await createTemplate(test, { name: 'unclear' });
    await start(test, created, { fromTemplate: 'base', steps: [step] });
    const end = await ended(test, created);
    expect(end).toMatchObject({
      status: 'error',
      reason: { step: '1', message: expect.stringMatching(message) },
    });
  });

  it('refuses more steps than any real build has', async () => {
    const created = await createTemplate(test, { name: 'endless' });
    await start(test, created, {
      fromTemplate: 'base',
      steps: Array.from({ length: 1_001 }, (_, i) => ({ type: 'ENV', args: [`V${i}`, 'x'] })),
    });
    expect(await ended(test, created)).toMatchObject({
      status: 'error',
      reason: { message: expect.stringMatching(/1001 steps, and 1000 is the most/) },
    });
  });

  it('says that images need the other driver', async () => {
    const created = await createTemplate(test, { name: 'image' });
    await start(test, created, { fromImage: 'debian:12' });
    expect(await ended(test, created)).toMatchObject({
      status: 'error',
      reason: { step: 'base', message: expect.stringContaining('linux driver') },
    });
  });

  it('builds on another template and takes over its variables, directory and commands', async () => {
    await build(test, 'parent:stable', {
      steps: [
        { type: 'RUN', args: ['echo p > parent'] },
        { type: 'ENV', args: ['FROM_PARENT', 'yes'] },
        { type: 'WORKDIR', args: ['/home/user/work'] },
      ],
    });
    await build(test, 'child', {
      fromTemplate: 'parent:stable',
      steps: [{ type: 'RUN', args: ['echo c > child'] }],
    });
    expect(await runIn(test, 'child', 'basename $PWD; cat ../parent child; echo $FROM_PARENT')).toBe(
      'work\np\nc\nyes',
    );
  });

  it('builds on a snapshot: its files, and its variables, which stay encrypted', async () => {
    const envVars = { TOKEN: 'sandbox-secret-value' };
    const sandbox = await test.api('POST', '/v2/sandboxes', { templateID: 'parent:stable', envVars });
    expect(sandbox.status).toBe(201);
    const { sandboxID } = sandbox.body;
    const snapshot = await test.api('POST', `/sandboxes/${sandboxID}/snapshots`, {
      name: 'snap',
      memory: false,
    });
    expect(snapshot.status).toBe(201);
    const made = await build(test, 'from-snapshot', {
      fromTemplate: 'snap',
      steps: [{ type: 'RUN', args: ['[ ${#TOKEN} = 20 ] && echo known > known'] }],
    });
    expect(await runIn(test, 'from-snapshot', 'cat ../parent known; echo $TOKEN')).toBe(
      'p\nknown\nsandbox-secret-value',
    );
    const row = await test.server.context.db
      .selectFrom('template_builds')
      .selectAll()
      .where('id', '=', made.buildID)
      .executeTakeFirstOrThrow();
    expect(JSON.stringify(row)).not.toContain('sandbox-secret-value');
    expect((await test.api('POST', '/v3/templates', { name: 'snap' })).status).toBe(409);
    expect((await test.api('DELETE', '/templates/snap')).status).toBe(204);
    await test.api('DELETE', `/sandboxes/${sandboxID}`);
  });

  it('waits for the ready command and starts the start command in every sandbox', async () => {
    const made = await build(test, 'started', {
      startCmd: 'echo up > up; sleep 1000',
      readyCmd: 'test -f up',
    });
    expect(made.log).toContain('ready');
    expect(
      await runIn(test, 'started', 'for i in $(seq 100); do [ -f up ] && break; sleep 0.1; done; cat up'),
    ).toBe('up');
  });

  it('fails when the start command does', async () => {
    const created = await createTemplate(test, { name: 'not-started' });
    await start(test, created, { fromTemplate: 'base', startCmd: 'exit 5', readyCmd: 'false' });
    expect(await ended(test, created)).toMatchObject({
      status: 'error',
      reason: { step: 'finalize', message: 'the start command ended with exit status 5' },
    });
  });

  it('ends a build that a newer one of the same tag supersedes', async () => {
    const old = await createTemplate(test, { name: 'race' });
    await start(test, old, { fromTemplate: 'base', steps: [{ type: 'RUN', args: ['sleep 1000'] }] });
    const newer = await createTemplate(test, { name: 'race' });
    expect((await status(test, old)).body.status).toBe('building');
    await start(test, newer, { fromTemplate: 'base' });
    expect(await ended(test, old)).toMatchObject({
      status: 'error',
      reason: { message: expect.stringContaining('superseded') },
    });
    expect(await ended(test, newer)).toMatchObject({ status: 'ready' });
  });

  it('marks a build as interrupted when the server stops under it', async () => {
    const created = await createTemplate(test, { name: 'interrupted' });
    await start(test, created, { fromTemplate: 'base', steps: [{ type: 'RUN', args: ['sleep 1000'] }] });
    await test.restart();
    expect((await status(test, created)).body).toMatchObject({
      status: 'error',
      reason: { message: 'interrupted: start the build again' },
    });
  });

  it('marks builds that a killed server left behind, and lets the template be built again', async () => {
    const created = await createTemplate(test, { name: 'killed' });
    const { db, config } = test.server.context;
    // The row of a build under way.
    await db
      .updateTable('template_builds')
      .set({ status: 'building', node_id: config.nodeId, definition: toJson<unknown>({}) })
      .where('id', '=', created.buildID)
      .execute();
    await test.restart();
    expect((await status(test, created)).body.reason).toEqual({
      message: 'interrupted: start the build again',
    });
    await build(test, 'killed', { steps: [{ type: 'RUN', args: ['echo again > again'] }] });
    await test.restart();
    expect(await runIn(test, 'killed', 'cat again')).toBe('again');
  });
});
