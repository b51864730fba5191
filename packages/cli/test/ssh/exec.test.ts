import { checkHost, linuxDriverCanRun } from '@svc/runtime';
import { Client, type Sandbox } from '@svc/sdk';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type LocalServer, startLocalServer } from '../support/local-server.js';
import { type ProgramOptions, runProgram, writeSshConfig } from '../support/ssh-home.js';

const linux = linuxDriverCanRun(await checkHost({}));

describe.each(linux ? (['process', 'linux'] as const) : (['process'] as const))(
  'ssh on the %s driver',
  (driver) => {
    let local: LocalServer;
    let sandbox: Sandbox;
    let config: string;
    beforeAll(async () => {
      local = await startLocalServer(driver);
      const client = new Client({
        apiKey: local.server.apiKey,
        apiUrl: local.server.apiUrl,
        sandboxUrl: local.server.sandboxUrl,
      });
      sandbox = await client.sandboxes.create({ timeoutMs: 300_000, metadata: { name: 'Work' } });
      ({ file: config } = await writeSshConfig(local));
    }, 120_000);
    afterAll(() => local?.[Symbol.asyncDispose]());

    const ssh = (args: string[], options?: ProgramOptions) =>
      runProgram(local, ['ssh', '-F', config, ...args], options);

    it('runs a command and ends with its exit code', async () => {
      const run = await ssh([`${sandbox.id}.svc`, 'echo out; echo err >&2; exit 7']);
      expect({ ...run, stdout: run.stdout.toString() }).toEqual({
        code: 7,
        stdout: 'out\n',
        stderr: 'err\n',
      });
    });
  },
);
