import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { cliVersion } from '../../src/cli/version.js';
import { completionScripts, readTree } from '../../src/commands/completion.js';
import { toCreateOptions } from '../../src/commands/sandbox/create.js';
import { readsCommands } from '../../src/commands/sandbox/exec.js';
import { addEgressOptions, collectRule, toEgress } from '../../src/commands/sandbox/network.js';
import { languageOf, shownText } from '../../src/commands/sandbox/run-code.js';
import { resolveServerOptions } from '../../src/commands/server/resolve-options.js';
import { definitionKind } from '../../src/commands/template/build.js';
import { targetPath } from '../../src/commands/volume.js';
import { collectEvents } from '../../src/commands/webhook/index.js';
import { chooseGroup, groups } from '../../src/program/groups.js';
import { buildProgram, everyCommand } from '../../src/program/program.js';

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
      cluster: ['up', 'join', 'status', 'down'],
      sandbox: expect.arrayContaining(
        'create list info exec shell logs metrics timeout refresh network pause resume fork kill cp port'.split(
          ' ',
        ),
      ),
      snapshot: ['create', 'list', 'delete'],
      template: expect.arrayContaining(
        'init build list info builds logs tag alias publish unpublish delete'.split(' '),
      ),
      secret: expect.arrayContaining(['create', 'list', 'get', 'update', 'delete']),
      volume: expect.arrayContaining('create list info delete ls put get mkdir rm chmod'.split(' ')),
      webhook: expect.arrayContaining(
        'create list get update delete deliveries redeliver stats listen'.split(' '),
      ),
      event: ['list'],
      auth: ['login', 'status', 'logout'],
    });
    expect(groups.map(({ name }) => name)).toEqual(expect.arrayContaining(['types', 'completion']));
  });

  it('says each default once, in words', async () => {
    const program = await buildProgram([], { all: true });
    everyCommand(program, (command) => {
      const help = command.helpInformation();
      for (const line of help.split('\n')) {
        expect(line.match(/\bdefault\b/g)?.length ?? 0, `${command.name()}: ${line}`).toBeLessThan(2);
        expect(line, command.name()).not.toMatch(/\(default: \d{5,}\)|<span>.*\(default: 0\)/);
      }
    });
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
      const run = `svc() { echo asked:$1-$2; }\n${script}\nCOMP_WORDS=(${array}); COMP_CWORD=${words.length - 1}; _svc; printf '%s\\n' "\${COMPREPLY[@]}"`;
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
    // `svc` itself is stood in for: it says what it was asked.
    expect(complete('svc', 'sandbox', 'kill', '')).toContain('asked:sandbox-list');
    expect(complete('svc', 'template', 'info', '')).toContain('asked:template-list');
    expect(complete('svc', 'volume', 'ls', '')).toContain('asked:volume-list');
    expect(complete('svc', 'secret', 'create', '')).not.toContain('asked:secret-list');
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

  it('of egress are read into rules and a proxy', () => {
    const flags = {
      rule: collectRule('*.example.com:X-A=1=2', collectRule('api.example.com:Authorization=Bearer x')),
      egressProxy: 'socks5://me:p%40ss@proxy.example:1080',
      allowOut: ['10.0.0.0/8'],
    };
    expect(toEgress(flags)).toEqual({
      allowOut: ['10.0.0.0/8'],
      rules: {
        'api.example.com': [{ transform: { headers: { Authorization: 'Bearer x' } } }],
        '*.example.com': [{ transform: { headers: { 'X-A': '1=2' } } }],
      },
      egressProxy: { address: 'proxy.example:1080', username: 'me', password: 'p@ss' },
    });
    expect(() => collectRule('nonsense')).toThrow('not a rule');
    expect(() => toEgress({ egressProxy: 'http://proxy:1' })).toThrow('socks5://');
  });

  it('of egress proxies say how TLS is spoken to them', () => {
    const egressProxy = 'socks5://proxy.example:1080';
    const tls = { egressProxyTls: true, egressProxyServerName: 'p', egressProxyCa: 'PEM' };
    expect(toEgress({ egressProxy, egressProxyTls: true })).toEqual({
      egressProxy: { address: 'proxy.example:1080', tls: { enabled: true } },
    });
    expect(toEgress({ egressProxy, ...tls }).egressProxy?.tls).toEqual({
      enabled: true,
      serverName: 'p',
      caCert: 'PEM',
    });
    expect(() => toEgress({ egressProxy, egressProxyCa: 'PEM' })).toThrow('about TLS');
    expect(() => toEgress(tls)).toThrow('need the proxy');
    const command = addEgressOptions(new Command().exitOverride());
    expect(() => command.parse(['--egress-proxy-ca', '/no/such/file'], { from: 'user' })).toThrow('ENOENT');
  });

  it('of exec distinguish programs that wait for commands from others', () => {
    for (const name of ['bash', '/bin/sh', 'python3', 'python3.11', 'node', 'zsh'])
      expect(readsCommands([name]), name).toBe(true);
    for (const words of [['ls'], ['bash', '-c', 'true'], ['publish'], ['nodejs-app']])
      expect(readsCommands(words), words[0]).toBe(false);
  });

  it('of run-code take the language from the name of the file, and print what a cell showed', () => {
    expect(['a.ts', 'b.mjs', 'c.sh', 'd.py', undefined].map(languageOf)).toEqual([
      'typescript',
      'javascript',
      'bash',
      undefined,
      undefined,
    ]);
    const result = { isMainResult: false, extra: {} };
    expect(
      shownText({
        results: [
          { ...result, text: '42' },
          { ...result, png: 'aGk=', html: '<b>' },
        ],
      }),
    ).toBe('42\n[png, html]\n');
  });

  it('of template build distinguish modules from Dockerfiles', () => {
    expect(definitionKind('/x/t.ts')).toBe('module');
    expect(definitionKind('/x/svc.template.mjs')).toBe('module');
    for (const name of ['Dockerfile', 'dev.Dockerfile', 'Dockerfile.dev', 'Containerfile', 'image'])
      expect(definitionKind(`/x/${name}`), name).toBe('dockerfile');
    expect(() => definitionKind('/x/t.yaml')).toThrow('neither a module nor a Dockerfile');
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
    expect(() => toCreateOptions(undefined, { internet: true, volume: ['data'] })).toThrow('not a mount');
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
