import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeOnServer } from '@svc/support/testing/on-server';
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  BuildError,
  type BuildLogEntry,
  InvalidRequestError,
  Template,
  TemplateNotFoundError,
} from '../../src/index.js';

describeOnServer('client.templates', (fixture) => {
  let context: string;
  beforeAll(async () => {
    context = await mkdtemp(join(tmpdir(), 'svc-context-'));
    await mkdir(join(context, 'app', 'node_modules'), { recursive: true });
    await writeFile(join(context, 'app', 'main.txt'), 'main');
    await writeFile(join(context, 'app', 'node_modules', 'junk'), 'junk');
    await writeFile(join(context, 'one.conf'), 'one');
    await writeFile(join(context, 'two.conf'), 'two');
  });
  afterAll(() => rm(context, { recursive: true, force: true }));

  it('builds from a base with files, variables and commands, and sandboxes have it all', {
    timeout: 180_000,
  }, async () => {
    const client = fixture.client();
    const template = Template.from('base', { contextDir: context, ignore: 'node_modules' })
      .env({ GREETING: 'hello' })
      .copy('app', 'app')
      .copy('*.conf', 'conf/')
      .run('echo "$GREETING from the build" > built.txt');
    const told: BuildLogEntry[] = [];
    const build = await client.templates.build(
      template,
      { name: 'Whole:v1', tags: ['stable'], cpuCount: 1, memoryMiB: 512 },
      (entry) => told.push(entry),
    );
    const logged: BuildLogEntry[] = [];
    for await (const entry of build.logs()) logged.push(entry);
    expect((await build.wait()).status).toBe('ready');
    expect(logged.length).toBeGreaterThan(0);
    expect(logged.map(({ message }) => message)).toEqual(
      (await build.readLogs()).map(({ message }) => message),
    );
    const sandbox = await client.sandboxes.create({ template: 'whole:stable' });
    try {
      const { stdout } = await sandbox.commands.run(
        'cat built.txt app/main.txt conf/one.conf conf/two.conf; ls app; echo $GREETING',
        { user: 'user' },
      );
      expect(stdout).toBe('hello from the build\nmainonetwomain.txt\nhello\n');
    } finally {
      await sandbox.kill();
    }
    const detail = await client.templates.get(build.templateId);
    expect(detail.builds[0]).toMatchObject({
      buildId: build.buildId,
      status: 'ready',
      cpuCount: 1,
      memoryMiB: 512,
    });
    expect((await client.templates.list().toArray()).map(({ templateId }) => templateId)).toContain(
      build.templateId,
    );
    // The same files again are not sent again: the build works although they are deleted by then.
    const again = await client.templates.build(template, { name: 'whole:v2' });
    expect((await again.wait()).status).toBe('ready');

    expect(await client.templates.exists('whole')).toBe(true);
    expect(await client.templates.exists('nothing-of-the-kind')).toBe(false);
    expect(await client.templates.aliases.find('nothing-of-the-kind')).toBeUndefined();
    expect((await client.templates.aliases.get('whole:v1')).templateId).toBe(build.templateId);
    expect(await client.templates.tags.assign('whole:v1', ['Prod'])).toEqual({
      tags: ['prod'],
      buildId: build.buildId,
    });
    expect((await client.templates.tags.list(build.templateId)).map(({ tag }) => tag)).toEqual(
      expect.arrayContaining(['v1', 'v2', 'stable', 'prod']),
    );
    await client.templates.tags.delete('whole', ['prod']);
    expect((await client.templates.tags.list(build.templateId)).map(({ tag }) => tag)).not.toContain('prod');
    expect((await client.templates.update(build.templateId, { public: true })).names).toHaveLength(1);
    expect((await client.templates.get('whole')).public).toBe(true);
    expect(await client.templates.delete('whole')).toBe(true);
    expect(await client.templates.delete('whole')).toBe(false);
    await expect(client.templates.get('whole')).rejects.toThrow(TemplateNotFoundError);
  });

  it('says which step failed, and what it printed', { timeout: 120_000 }, async () => {
    const client = fixture.client();
    const template = Template.from('base').run('true').run('echo oh no >&2; exit 7');
    const build = await client.templates.build(template, { name: 'fails' });
    const failure = await build.wait().catch((error: unknown) => error);
    expect(BuildError.is(failure)).toBe(true);
    expect(failure).toMatchObject({ step: '2' });
    expect((failure as Error).message).toMatch(
      /The build of fails failed at step 2 \(RUN echo oh no >&2; exit 7\): .*7/,
    );
    expect((failure as Error).message).toContain('oh no');
    expect((await client.templates.openBuild(build).status()).status).toBe('error');
  });

  it('finds missing files before the service hears of a build', async () => {
    const client = fixture.client();
    const template = Template.from('base', { contextDir: context }).copy('absent', 'x');
    await expect(client.templates.build(template, { name: 'never' })).rejects.toThrow(InvalidRequestError);
    expect(await client.templates.exists('never')).toBe(false);
  });
});
