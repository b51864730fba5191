import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { linuxOptions } from '../../src/config/driver-options.js';
import { loadConfig, optionsOfFlags } from '../../src/config/load.js';
import { resolveConfig } from '../../src/config/resolve.js';

let directory: string;
let file: string;
beforeAll(async () => {
  directory = await mkdtemp(path.join(tmpdir(), 'svc-config-'));
  file = path.join(directory, 'server.yaml');
  await writeFile(
    file,
    'host: from-file\napiPort: 1\nsandboxPort: 1\ndomain: file.test\nteamLimits: {maxSecrets: 3}\n',
  );
});
afterAll(() => rm(directory, { recursive: true, force: true }));

describe('configuration', () => {
  it('takes flags over the environment, the environment over the file, the file over defaults', async () => {
    const env = { SVC_CONFIG: file, SVC_API_PORT: '2', SVC_SANDBOX_PORT: '2', SVC_DATA_DIR: directory };
    const options = await loadConfig({ env, flags: { sandboxPort: 3 } });
    expect(options).toMatchObject({ host: 'from-file', apiPort: 2, sandboxPort: 3, dataDir: directory });
    const config = resolveConfig(options, { nodeId: 'n', envdVersion: '1', apiUrl: 'a', sandboxUrl: 's' });
    expect(config).toMatchObject({ domain: 'file.test', announceDomain: true, maxSandboxes: 1_000 });
    expect(config.teamLimits).toMatchObject({ maxSecrets: 3, maxWebhooks: 10 });
  });
  it('lets an absent flag and an empty variable say nothing', async () => {
    const env = { SVC_API_PORT: '', SVC_DATA_DIR: directory };
    const options = await loadConfig({ file, env, flags: { apiPort: undefined as never } });
    expect(options.apiPort).toBe(1);
  });
  it('puts limits together entry by entry, so that one flag leaves the file its others', async () => {
    const env = {
      SVC_CONFIG: file,
      SVC_DATA_DIR: directory,
      SVC_TEAM_MAX_SANDBOXES: '7',
      SVC_RATE_LIMIT: '50',
      SVC_CREATE_RATE_LIMIT: '2.5:10',
    };
    const options = await loadConfig({ env, flags: { rateLimits: { create: { rate: 0, burst: 1 } } } });
    expect(options.teamLimits).toEqual({ maxSecrets: 3, maxConcurrentSandboxes: 7 });
    expect(options.rateLimits).toEqual({ general: { rate: 50, burst: 250 }, create: { rate: 0, burst: 1 } });
    expect((await loadConfig({ env })).rateLimits?.create).toEqual({ rate: 2.5, burst: 10 });
    expect((await loadConfig({ env: { SVC_RATE_LIMIT: 'off' } })).rateLimits?.general?.rate).toBe(0);
    await expect(loadConfig({ env: { SVC_RATE_LIMIT: 'fast' } })).rejects.toThrow(
      /^SVC_RATE_LIMIT must be a map of rate, in requests per second, and burst \(100, 100:500 with a burst, or off, in/,
    );
  });
  it('reads the user ids of sandboxes, and refuses too few before anything starts', async () => {
    const { userIds } = await loadConfig({ env: { SVC_USER_IDS: '600000000:1310720' } });
    expect(userIds).toEqual({ first: 600_000_000, count: 20 * 65_536 });
    for (const wrong of ['600000000', '1:2:3', '-1:65536', 'a:b'])
      await expect(loadConfig({ env: { SVC_USER_IDS: wrong } })).rejects.toThrow(/^SVC_USER_IDS must be/);
    const ids = path.join(directory, 'ids.yaml');
    await writeFile(ids, 'userIds: { first: 65535, count: 65536 }\n');
    await expect(loadConfig({ file: ids, env: {} })).rejects.toThrow(
      /userIds must be a map of first and count/,
    );
    const options = { dataDir: directory, maxSandboxes: 16, poolSize: 4, userIds: userIds! };
    expect(linuxOptions(options).ids).toEqual(userIds);
    expect(() => linuxOptions({ ...options, maxSandboxes: 17 })).toThrow(
      /ids for 20 sandboxes, and 21 may run .*: give it 1376256 ids .* or set maxSandboxes to 16/,
    );
  });
  it('reads flags by their names, also those of single entries and those that say no', async () => {
    const flags = optionsOfFlags({
      port: 5,
      trialStart: false,
      rateLimit: '50:60',
      allowPrivateWebhooks: true,
      postgresUrl: 'postgres://localhost/x',
      detach: true,
    });
    expect(flags).toEqual({
      apiPort: 5,
      trialStart: false,
      rateLimits: { general: { rate: 50, burst: 60 } },
      storage: { kind: 'postgres', url: 'postgres://localhost/x' },
      tuning: { webhooks: { allowPrivateAddresses: true } },
    });
    const tuned = path.join(directory, 'tuned.yaml');
    await writeFile(tuned, 'storage: {kind: sqlite, file: /x.db}\ntuning: {webhooks: {timeoutMs: 5}}\n');
    expect(await loadConfig({ file: tuned, env: {}, flags })).toMatchObject({
      storage: flags.storage,
      tuning: { webhooks: { timeoutMs: 5, allowPrivateAddresses: true } },
    });
    expect(optionsOfFlags({ trialStart: true })).toEqual({});
    expect(() => optionsOfFlags({ rateLimit: 'secret!' })).toThrow(/^--rate-limit must be a map of rate, in/);
  });
  it.each([
    ['SVC_TRIAL_START', 'off', { trialStart: false }],
    ['SVC_OPERATOR_PORT', 'off', { operatorPort: false }],
    ['SVC_HEADER_PREFIXES', 'Acme-,Other-', { headerPrefixes: ['Acme-', 'Other-'] }],
    [
      'SVC_TEMPLATE_ISOLATION',
      'base=gvisor, x = container',
      { templateIsolation: { base: 'gvisor', x: 'container' } },
    ],
  ])('reads %s=%s', async (name, value, expected) => {
    expect(await loadConfig({ env: { [name]: value } })).toMatchObject(expected);
  });
  it.each([
    ['SVC_TRIAL_START', 'maybe', 'must be true or false (on or off in a variable)'],
    ['SVC_MAX_SANDBOXES', '0', 'must be a whole number, 1 or more'],
    ['SVC_TEMPLATE_ISOLATION', 'base=magic', 'must be container or gvisor for each name'],
    ['SVC_TEMPLATE_ISOLATION', 'base', 'must be container or gvisor for each name'],
  ])('refuses %s=%s', async (name, value, problem) => {
    await expect(loadConfig({ env: { [name]: value } })).rejects.toThrow(`${name} ${problem}`);
  });
  it('names the variable or the file that cannot be read, and never its value', async () => {
    await expect(loadConfig({ env: { SVC_API_PORT: 'secret!' } })).rejects.toThrow(
      /^SVC_API_PORT must be a whole number, 0 to 65535$/,
    );
    await expect(loadConfig({ env: { SVC_DRIVER: 'magic' } })).rejects.toThrow(
      /^SVC_DRIVER must be one of linux, process, incus$/,
    );
    const missing = path.join(directory, 'missing.yaml');
    await expect(loadConfig({ file: missing, env: {} })).rejects.toThrow(missing);
    const list = path.join(directory, 'list.yaml');
    await writeFile(list, '- a\n');
    await expect(loadConfig({ file: list, env: {} })).rejects.toThrow('it must be a map of options');
  });
  it.each([
    ['apiPrt: 3100', 'apiPrt is no option; apiPort is'],
    ['teamLimits: {maxSecret: 3}', 'teamLimits.maxSecret is no option; teamLimits.maxSecrets is'],
    ['tuning: {webhooks: {colour: red}}', 'tuning.webhooks.colour is no option (there are tuning.webhooks.a'],
    ['maxSandboxes: many', 'maxSandboxes must be a whole number, 1 or more'],
    ['poolSize: -3', 'poolSize must be a whole number, 0 or more'],
    ['apiPort: "3000"', 'apiPort must be a whole number, 0 to 65535'],
    ['operatorPort: true', 'operatorPort must be a port, 0 to 65535, or false'],
    ['rateLimits: 5', 'rateLimits must be a map of general, create'],
    ['logLevel: loud', 'logLevel must be one of silent, error, warn, info, debug, trace'],
    ['headerPrefixes: Acme-', 'headerPrefixes must be a list of texts'],
    ['rateLimits: {general: {rate: 5}}', 'rateLimits.general must be a map of rate'],
    ['templateIsolation: [gvisor]', 'templateIsolation must be container or gvisor for each name'],
    ['now: 5', 'now is no option'],
    ['__proto__: {a: 1}', '__proto__ is no option'],
  ])('refuses %j in the file rather than starting with a default', async (line, problem) => {
    const typo = path.join(directory, 'typo.yaml');
    await writeFile(typo, `${line}\n`);
    await expect(loadConfig({ file: typo, env: {} })).rejects.toThrow(problem);
  });
  it('takes every option from the file', async () => {
    const full = path.join(directory, 'full.json');
    const options = {
      operatorPort: false,
      storage: { kind: 'postgres', url: 'postgres://localhost/x', poolSize: 3 },
      rateLimits: { general: { rate: 0.5, burst: 1 } },
      tuning: { webhooks: { retryDelaysMs: [1, 2] }, builds: { imageDirectories: ['/srv/images'] } },
    };
    await writeFile(full, JSON.stringify(options));
    expect(await loadConfig({ file: full, env: {} })).toMatchObject(options);
  });
  it('does not quote lines of a file that is no YAML', async () => {
    const broken = path.join(directory, 'broken.yaml');
    await writeFile(broken, 'serverKey: [geheim\nb');
    const failure = await loadConfig({ file: broken, env: {} }).catch((error: Error) => error.message);
    expect(failure).toMatch(/^cannot read the configuration file .* at line \d+, column \d+$/);
    expect(failure).not.toContain('geheim');
  });
});
