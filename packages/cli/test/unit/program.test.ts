import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { completionScripts } from '../../src/commands/completion/scripts.js';
import { readTree } from '../../src/commands/completion/tree.js';
import { toCreateOptions } from '../../src/commands/sandbox/create.js';
import { resolveServerOptions } from '../../src/commands/server/resolve-options.js';
import { targetPath } from '../../src/commands/volume/put.js';
import { collectEvents } from '../../src/commands/webhook/event-types.js';
import { chooseGroup, groups } from '../../src/program/groups.js';
import { buildProgram, everyCommand } from '../../src/program/program.js';
import { cliVersion } from '../../src/version.js';

describe('the tree of commands', () => {
  it('loads only the group that is named', async () => {
    const program = await buildProgram(['sandbox', 'list']);
    const filled = program.commands
      .filter(({ commands }) => commands.length > 0)
      .map((command) => command.name());
    expect(filled).toEqual(['sandbox']);
  });

  it.each([
    [['sandbox', 'list'], 'sandbox'],
    [['--json', '--api-url', 'http://x', 'volume'], 'volume'],
    [['help', 'secret'], 'secret'],
    [['--version'], undefined],
    [['--', 'sandbox'], undefined],
  ])('finds the group of %j', (argv, name) => expect(chooseGroup(argv)).toBe(name));

  it('has a summary for every command and the common options on every leaf', async () => {
    const program = await buildProgram([], { all: true });
    everyCommand(program, (command) => {
      if (command !== program) expect(command.summary(), command.name()).not.toBe('');
      if (command.commands.length === 0) {
        const names = command.options.map(({ long }) => long);
        expect(names, command.name()).toEqual(expect.arrayContaining(['--json', '--no-color', '--verbose']));
        expect(new Set(names).size, command.name()).toBe(names.length);
      }
    });
  });

  it('has the commands that are promised', async () => {
    const program = await buildProgram([], { all: true });
    const names = Object.fromEntries(
      program.commands.map((group) => [group.name(), group.commands.map((each) => each.name())]),
    );
    expect(names).toMatchObject({
      server: expect.arrayContaining(['up', 'status', 'doctor', 'down']),
      sandbox: expect.arrayContaining(
        'create list info exec shell logs metrics pause resume fork kill cp port'.split(' '),
      ),
      template: expect.arrayContaining(['init', 'build', 'list', 'tag', 'delete']),
      secret: expect.arrayContaining(['create', 'list', 'update', 'delete']),
      volume: expect.arrayContaining(['create', 'list', 'info', 'delete', 'ls', 'put', 'get']),
      webhook: expect.arrayContaining(['create', 'list', 'update', 'delete', 'deliveries', 'listen']),
      auth: ['login', 'status', 'logout'],
    });
    expect(groups.map(({ name }) => name)).toEqual(expect.arrayContaining(['types', 'completion']));
  });

  it('has the version of the package', () => {
    const manifest = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
    expect(cliVersion).toBe(manifest.version);
  });
});

describe('completion', () => {
  it('in bash offers commands, options, and nothing that does not fit', async () => {
    const script = completionScripts.bash(readTree(await buildProgram([], { all: true })));
    const complete = (...words: string[]) => {
      const array = words.map((word) => `'${word}'`).join(' ');
      const run = `${script}\nCOMP_WORDS=(${array}); COMP_CWORD=${words.length - 1}; _svc; printf '%s\\n' "\${COMPREPLY[@]}"`;
      const { stdout, stderr } = spawnSync('bash', ['--norc', '-c', run], {
        encoding: 'utf8',
        env: { PATH: '/usr/bin:/bin' },
      });
      expect(stderr).toBe('');
      return stdout.trim().split('\n');
    };
    expect(complete('svc', 'sand')).toEqual(['sandbox']);
    expect(complete('svc', 'sandbox', 'cr')).toEqual(['create']);
    expect(complete('svc', 'sandbox', 'create', '--time')).toEqual(['--timeout']);
    expect(complete('svc', '--json', 'server', 'do')).toEqual(['doctor', 'down']);
  });

  it('names every command in each shell', async () => {
    const nodes = readTree(await buildProgram([], { all: true }));
    for (const script of Object.values(completionScripts)) {
      const text = script(nodes);
      for (const { commands } of nodes) for (const { word } of commands) expect(text).toContain(word);
    }
  });
});

describe('options of commands', () => {
  it('of server up set limits, beside those of the environment', async () => {
    const env = { SVC_DATA_DIR: '/tmp/x', SVC_RATE_LIMIT: '50:60' };
    const options = await resolveServerOptions({ createRateLimit: 'off', teamMaxSandboxes: 9 }, env);
    expect(options.rateLimits).toEqual({ general: { rate: 50, burst: 60 }, create: { rate: 0, burst: 1 } });
    expect(options.teamLimits).toEqual({ maxConcurrentSandboxes: 9 });
    await expect(resolveServerOptions({ rateLimit: 'much' }, env)).rejects.toThrow(/^--rate-limit must be/);
  });

  it('of create leave unsaid what was not said', () => {
    expect(toCreateOptions(undefined, { internet: true })).toEqual({});
    expect(
      toCreateOptions('base', {
        internet: false,
        timeout: 1000,
        volume: ['data:/mnt/data'],
        onTimeout: 'pause',
        autoResume: true,
        privatePorts: true,
      }),
    ).toEqual({
      template: 'base',
      timeoutMs: 1000,
      allowInternetAccess: false,
      volumeMounts: { '/mnt/data': 'data' },
      lifecycle: { onTimeout: 'pause', autoResume: true },
      network: { allowPublicTraffic: false },
    });
    expect(() => toCreateOptions(undefined, { internet: true, volume: ['data'] })).toThrow('no mount');
    expect(() => toCreateOptions(undefined, { internet: true, onTimeout: 'explode' })).toThrow(
      'kill or pause',
    );
  });

  it('of webhooks take events by their last word', () => {
    expect(collectEvents('created, sandbox.lifecycle.killed,created')).toEqual([
      'sandbox.lifecycle.created',
      'sandbox.lifecycle.killed',
    ]);
    expect(() => collectEvents('exploded')).toThrow('no event');
  });

  it('of volume put name the file where no path is said', () => {
    expect(targetPath(undefined, 'dir/a.txt')).toBe('/a.txt');
    expect(targetPath('in/', 'dir/a.txt')).toBe('/in/a.txt');
    expect(targetPath('in/b.txt', 'dir/a.txt')).toBe('/in/b.txt');
    expect(() => targetPath(undefined, '-')).toThrow('no name');
  });
});
