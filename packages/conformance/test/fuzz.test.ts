import { expect, test } from 'vitest';
import { fuzzRoute, fuzzRpc, methods, nameOf } from '../src/fuzz/daemon.js';
import { fuzzOperation, type Known } from '../src/fuzz/platform.js';
import { fuzzRaw } from '../src/fuzz/raw.js';
import { FuzzReport } from '../src/fuzz/report.js';
import { pick } from '../src/fuzz/values.js';
import { chooseSeed, randomFrom } from '../src/random.js';
import { SIGNATURE_SECRET, unique } from '../src/requests/samples.js';
import { startEmbedded } from '../src/targets/embedded.js';
import { assertStatus, call } from '../src/wire/call.js';
import { daemon, platform, volumes } from '../src/wire/documents.js';
import { daemonSend } from '../src/wire/rpc.js';

const seconds = Number(process.env.SVC_FUZZ_SECONDS ?? 15);
const WORKERS = 6;

test(
  'random requests of every operation and RPC never bring an unintended 500, a crash or a hang',
  async () => {
    const random = randomFrom(chooseSeed('fuzz'));
    const target = await startEmbedded('process');
    const report = new FuzzReport();
    try {
      const team = await target.team({
        limits: { maxConcurrentSandboxes: 6, maxSecrets: 20, maxWebhooks: 5 },
        egressProxy: true,
      });
      const sandbox = await target.newSandbox({ timeout: 86_000 });
      const volume = assertStatus<{ volumeID: string; token: string }>(
        await call(team, 'createVolume', { body: { name: unique('volume') } }),
        201,
      );
      const webhook = assertStatus<{ id: string }>(
        await call(team, 'createWebhook', {
          body: {
            name: 'hook',
            url: 'http://127.0.0.1:9/',
            events: ['sandbox.lifecycle.paused'],
            signatureSecret: SIGNATURE_SECRET,
          },
        }),
        201,
      );
      const inTeam = await target.newSandbox({ timeout: 3_000 }, team);
      const known: Known = {
        sandboxID: [inTeam.sandboxId, sandbox.sandboxId],
        templateID: ['base', inTeam.templateId],
        volumeID: [volume.volumeID],
        webhookID: [webhook.id],
        alias: ['base'],
      };
      // Keys are not fuzzed away: the one in use would go too.
      const operations = [...platform.operations.values()];
      const files = [...volumes.operations.values()];
      const routes = [...daemon.operations.values()];
      const api = { apiUrl: team.apiUrl, apiKey: team.apiKey, token: volume.token };
      const routing = `Svc-Sandbox-Id: ${sandbox.sandboxId}\r\nSvc-Sandbox-Port: 49983\r\nX-Access-Token: ${sandbox.accessToken}\r\n`;
      const rounds: (() => Promise<void>)[] = [
        ...operations.map((one) => () => fuzzOperation(api, platform, one, known, random, report)),
        ...files.map((one) => () => fuzzOperation(api, volumes, one, known, random, report)),
        ...methods.map((one) => () => fuzzRpc(sandbox, one, random, report)),
        ...routes.map((one) => () => fuzzRoute(sandbox, one, random, report)),
        () => fuzzRaw(target.apiUrl, `X-API-Key: ${team.apiKey}\r\n`, random, report),
        () => fuzzRaw(target.sandboxUrl, routing, random, report),
      ];
      // Each at least once, then as chance has it.
      const queue = [...rounds];
      const until = Date.now() + seconds * 1_000;
      const worker = async () => {
        for (;;) {
          const next = queue.shift() ?? (Date.now() < until ? pick(random, rounds) : undefined);
          if (next === undefined) return;
          await next();
        }
      };
      await Promise.all(Array.from({ length: WORKERS }, worker));

      console.log(`fuzz: ${report}; slowest: ${report.slowest()}`);
      const all = [
        ...operations.map((one) => one.id),
        ...files.map((one) => one.id),
        ...methods.map(nameOf),
        ...routes.map((one) => `daemon ${one.id}`),
      ];
      expect(report.missing(all)).toEqual([]);
      expect(report.failures).toEqual([]);
      expect((await call(target, 'getHealth', { key: null })).status, 'the server still answers').toBe(204);
      expect((await daemonSend(sandbox, '/health')).status, 'the daemon still answers').toBe(204);
    } finally {
      await target.close();
    }
  },
  (seconds + 180) * 1_000,
);
