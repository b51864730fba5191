import assert from 'node:assert/strict';
import { type Case, casesOf, type Draft } from '../../case.js';
import { unique, unknownIds } from '../../requests/samples.js';
import type { Target } from '../../targets/target.js';
import { type Api, assertFailure, assertStatus, call } from '../../wire/call.js';
import { daemonSend } from '../../wire/rpc.js';

interface Made {
  templateID: string;
  sandboxID: string;
  clientID: string;
  envdVersion: string;
  alias?: string;
  envdAccessToken?: string;
  trafficAccessToken?: string;
}

interface Detail extends Made {
  startedAt: string;
  endAt: string;
  state: string;
  metadata?: Record<string, string>;
  network?: Record<string, unknown>;
  lifecycle: { autoResume: boolean; onTimeout: string };
  allowInternetAccess?: boolean | null;
}

async function create(
  target: Target,
  body: Record<string, unknown>,
  operation = 'createSandboxV2',
  api: Api = target,
) {
  const answer = await call(api, operation, { body: { templateID: target.template, ...body } });
  const made = assertStatus<Made>(answer, 201);
  return made;
}

async function detail(target: Target, sandboxID: string): Promise<Detail> {
  return assertStatus<Detail>(await call(target, 'getSandbox', { path: { sandboxID } }), 200);
}

async function kill(target: Target, sandboxID: string): Promise<void> {
  assertStatus(await call(target, 'killSandbox', { path: { sandboxID } }), 204);
}

const lifeOf = (sandbox: Detail) => (Date.parse(sandbox.endAt) - Date.parse(sandbox.startedAt)) / 1000;

/** Bodies that must be refused with 400, by name. */
const REFUSED: Record<string, Record<string, unknown>> = {
  'timeout 0': { timeout: 0 },
  'a negative timeout': { timeout: -1 },
  'a timeout that is no integer': { timeout: 1.5 },
  'a timeout that is a text': { timeout: '15' },
  'autoPauseMemory false without autoPause': { autoPauseMemory: false },
  'autoPauseMemory false with autoPause false': { autoPauseMemory: false, autoPause: false },
  'autoPauseMemory false with autoResume': {
    autoPauseMemory: false,
    autoPause: true,
    autoResume: { enabled: true },
  },
  'autoResume without enabled': { autoResume: {} },
  'metadata with a number': { metadata: { key: 1 } },
  'envVars with a number': { envVars: { key: 1 } },
  'a domain in denyOut': { network: { denyOut: ['example.com'] } },
  '0.0.0.0 in allowOut': { network: { allowOut: ['0.0.0.0'] } },
  ':: in allowOut': { network: { allowOut: ['::'] } },
  'a CIDR that is none': { network: { denyOut: ['10.0.0.0/33'] } },
  'a domain in allowOut without denying all': { network: { allowOut: ['example.com'] } },
  'httpsPorts twice the same': { network: { httpsPorts: [443, 443] } },
  'httpsPorts with port 0': { network: { httpsPorts: [0] } },
  'httpsPorts with port 65536': { network: { httpsPorts: [65_536] } },
  'httpsPorts with the daemon port': { network: { httpsPorts: [49_983] } },
  'too many httpsPorts': { network: { httpsPorts: Array.from({ length: 129 }, (_, index) => index + 1) } },
  'maskRequestHost that is no host': { network: { maskRequestHost: 'not a host' } },
  'a rule for a bare star': { network: { rules: { '*': [] } } },
  'a rule for a star inside': { network: { rules: { 'a.*.example.com': [] } } },
  'two transforms of one host': {
    network: { rules: { 'a.example.com': [{ transform: {} }, { transform: {} }] } },
  },
  'the same host twice in two cases': {
    network: { rules: { 'a.example.com': [{ transform: {} }], 'A.example.com': [{ transform: {} }] } },
  },
  'a forbidden header in a rule': {
    network: { rules: { 'a.example.com': [{ transform: { headers: { Host: 'other' } } }] } },
  },
  'a header with a broken placeholder': {
    network: { rules: { 'a.example.com': [{ transform: { headers: { 'X-Key': `\${svc.secrets.` } } }] } },
  },
  'a placeholder with a secret id': {
    network: {
      rules: { 'a.example.com': [{ transform: { headers: { 'X-Key': `\${svc.secrets.sec_abc}` } } }] },
    },
  },
  'a header value with a line end': {
    network: { rules: { 'a.example.com': [{ transform: { headers: { 'X-Key': 'a\nb' } } }] } },
  },
  'six identity tokens': {
    iam: {
      tokens: Object.fromEntries(
        Array.from({ length: 6 }, (_, index) => [`t${index}`, { audience: 'a', tokenType: 'JWT-SVID' }]),
      ),
    },
  },
  'an identity token of another type': { iam: { tokens: { one: { audience: 'a', tokenType: 'JWT' } } } },
  'an identity token without audience': { iam: { tokens: { one: { tokenType: 'JWT-SVID' } } } },
  'an identity token with an empty audience': {
    iam: { tokens: { one: { audience: '', tokenType: 'JWT-SVID' } } },
  },
  'an identity token with a brace in its name': {
    iam: { tokens: { 'a}b': { audience: 'a', tokenType: 'JWT-SVID' } } },
  },
  'a mount of a volume that is not there': { volumeMounts: [{ name: 'no-such-volume', path: '/data' }] },
  'a mount without a path': { volumeMounts: [{ name: 'no-such-volume' }] },
};

const NOT_ENFORCED: Record<string, Record<string, unknown>> = {
  'transform rules': {
    network: { rules: { 'a.example.com': [{ transform: { headers: { 'X-Key': 'v' } } }] } },
  },
  'a part of the addresses denied': { network: { denyOut: ['203.0.113.0/24'] } },
  'exceptions from denying all': { network: { allowOut: ['203.0.113.0/24'], denyOut: ['0.0.0.0/0'] } },
};

const both = (['createSandboxV2', 'createSandbox'] as const).flatMap((operation): Draft[] => [
  {
    name: `${operation} gives a running sandbox with its token`,
    operation,
    expects: 'success',
    run: async (target) => {
      const made = await create(target, { timeout: 60, metadata: { who: 'me' } }, operation);
      assert.match(made.sandboxID, /^i[a-z0-9]{20}$/);
      assert.match(made.templateID, /^[a-z0-9]{20}$/);
      assert.ok(made.clientID.length > 0);
      assert.match(made.envdVersion, /^\d+\.\d+\.\d+/);
      assert.ok((made.envdAccessToken ?? '').length >= 32);
      assert.equal(made.trafficAccessToken, undefined, 'only with private ingress');
      const read = await detail(target, made.sandboxID);
      assert.equal(read.state, 'running');
      assert.equal(read.envdAccessToken, made.envdAccessToken);
      assert.deepEqual(read.metadata, { who: 'me' });
      assert.equal(lifeOf(read), 60);
      assert.deepEqual(read.lifecycle, { autoResume: false, onTimeout: 'kill' });
      const health = await daemonSend(
        { sandboxUrl: target.sandboxUrl, sandboxId: made.sandboxID, accessToken: made.envdAccessToken! },
        '/health',
      );
      assert.equal(health.status, 204, 'it answers at once');
      await kill(target, made.sandboxID);
    },
  },
  {
    name: `${operation} without a timeout lives as long as the version says`,
    operation,
    expects: 'success',
    run: async (target) => {
      const made = await create(target, {}, operation);
      assert.equal(lifeOf(await detail(target, made.sandboxID)), operation === 'createSandbox' ? 15 : 300);
      await call(target, 'killSandbox', { path: { sandboxID: made.sandboxID } });
    },
  },
  {
    name: `${operation} of a template that is not there gives 404`,
    operation,
    expects: '404 template',
    run: async (target) => {
      for (const templateID of [
        'no-such-template',
        unknownIds.templateID,
        'nobody/base',
        `${target.template}:no-such-tag`,
      ]) {
        const answer = await call(target, operation, { body: { templateID } });
        const { message } = assertFailure(answer, { status: 404 });
        assert.ok(message.includes(templateID.split(':')[0]!), `the message names the reference: ${message}`);
      }
    },
  },
  {
    name: `${operation} of a reference that is none gives 400`,
    operation,
    expects: '400 reference',
    run: async (target) => {
      for (const templateID of ['no such', 'a/b/c', 'base:', ':tag', 'bäse', 'base:bad tag'])
        assertFailure(await call(target, operation, { body: { templateID } }), { status: 400 });
    },
  },
  {
    name: `${operation} without a template gives 400`,
    operation,
    expects: '400 validation',
    run: async (target) =>
      assertFailure(await call(target, operation, { body: {} }), {
        status: 400,
        message: 'validation error: ',
      }),
  },
  {
    name: `${operation} beyond the longest life gives 400 that names the hours`,
    operation,
    expects: '400 timeout',
    needs: ['teams'],
    run: async (target) => {
      const team = await target.team({ limits: { maxTimeToLiveSeconds: 7_200 } });
      const answer = await call(team, operation, { body: { templateID: target.template, timeout: 7_201 } });
      assertFailure(answer, { status: 400, message: /2 hours/ });
    },
  },
  {
    name: `${operation} with an egress proxy needs the flag of the team`,
    operation,
    expects: '403 egressProxy',
    run: async (target) => {
      for (const address of ['proxy.example.com:1080', 'nonsense'])
        assertFailure(
          await call(target, operation, {
            body: { templateID: target.template, network: { egressProxy: { address } } },
          }),
          { status: 403, message: /network\.egressProxy/ },
        );
    },
  },
  ...Object.entries(REFUSED).map(
    ([name, body]): Draft => ({
      name: `${operation} refuses ${name}`,
      operation,
      expects: `400 ${name}`,
      run: async (target) =>
        assertFailure(await call(target, operation, { body: { templateID: target.template, ...body } }), {
          status: 400,
        }),
    }),
  ),
]);

/** Creating sandboxes, both versions. */
export const createCases: Case[] = casesOf('create', [
  ...both,
  ...Object.entries(NOT_ENFORCED).map(
    ([name, body]): Draft => ({
      name: `${name}: what would not be enforced is refused, never accepted in silence`,
      operation: 'createSandboxV2',
      expects: '400 not enforced',
      run: async (target) => {
        const answer = await call(target, 'createSandboxV2', {
          body: { templateID: target.template, ...body },
        });
        if (answer.status === 201) {
          const { sandboxID } = answer.json() as Made;
          await kill(target, sandboxID);
          assert.fail('accepted: there must be a case that shows its enforcement');
        }
        assertFailure(answer, { status: 400, message: /enforced|isolate/ });
      },
    }),
  ),
  {
    name: 'an egress proxy of a team with the flag must have a sound address',
    operation: 'createSandboxV2',
    expects: '400 egressProxy',
    needs: ['teams'],
    run: async (target) => {
      const team = await target.team({ egressProxy: true });
      for (const egressProxy of [
        { address: 'nonsense' },
        { address: 'proxy.example.com:0' },
        { address: 'proxy.example.com:65536' },
        { address: 'proxy.example.com:1080', password: 'p' },
        { address: 'proxy.example.com:1080', username: 'u'.repeat(256) },
      ])
        assertFailure(
          await call(team, 'createSandboxV2', {
            body: { templateID: target.template, network: { egressProxy } },
          }),
          { status: 400 },
        );
    },
  },
  {
    name: 'secure is ignored whatever it says',
    operation: 'createSandboxV2',
    expects: 'success',
    run: async (target) => {
      const made = await create(target, { timeout: 30, secure: false });
      assert.ok(made.envdAccessToken !== undefined);
      await kill(target, made.sandboxID);
    },
  },
  {
    name: 'options are kept and read back',
    operation: 'getSandbox',
    expects: 'success',
    run: async (target) => {
      const made = await create(target, {
        timeout: 60,
        autoPause: true,
        autoResume: { enabled: true },
        mcp: { any: { thing: 1 } },
        iam: { tokens: { one: { audience: 'https://a.example.com', tokenType: 'JWT-SVID' } } },
        network: { httpsPorts: [8_443], maskRequestHost: `localhost:\${PORT}` },
      });
      const read = await detail(target, made.sandboxID);
      assert.deepEqual(read.lifecycle, { autoResume: true, onTimeout: 'pause' });
      assert.deepEqual(read.network?.httpsPorts, [8_443]);
      assert.equal(read.network?.maskRequestHost, `localhost:\${PORT}`);
      assert.equal('iam' in read, false, 'identity tokens are not read back');
      await kill(target, made.sandboxID);
    },
  },
  {
    name: 'environment variables reach the daemon with those of the platform',
    operation: 'createSandboxV2',
    expects: 'success',
    run: async (target) => {
      const sandbox = await target.newSandbox({ envVars: { ONE: '1', EMPTY: '' } });
      const envs = (await daemonSend(sandbox, '/envs')).json() as Record<string, string>;
      assert.equal(envs.ONE, '1');
      assert.equal(envs.EMPTY, '');
      assert.equal(envs.SVC_SANDBOX, 'true');
      assert.equal(envs.SVC_SANDBOX_ID, sandbox.sandboxId);
      assert.equal(envs.SVC_TEMPLATE_ID, sandbox.templateId);
      await kill(target, sandbox.sandboxId);
    },
  },
  {
    name: 'private ingress comes with a token of its own',
    operation: 'createSandboxV2',
    expects: 'success',
    run: async (target) => {
      const made = await create(target, { timeout: 60, network: { allowPublicTraffic: false } });
      assert.ok((made.trafficAccessToken ?? '').length >= 32);
      assert.notEqual(made.trafficAccessToken, made.envdAccessToken);
      await kill(target, made.sandboxID);
    },
  },
  {
    name: 'more sandboxes than the team may run give 429 without Retry-After',
    operation: 'createSandboxV2',
    expects: '429 concurrency',
    needs: ['teams'],
    run: async (target) => {
      const team = await target.team({ limits: { maxConcurrentSandboxes: 1 } });
      const first = await target.newSandbox({}, team);
      const answer = await call(team, 'createSandboxV2', { body: { templateID: target.template } });
      assertFailure(answer, { status: 429, message: /1/ });
      assert.equal(answer.headers['retry-after'], undefined);
      assertStatus(await call(team, 'pauseSandbox', { path: { sandboxID: first.sandboxId } }), 204);
      const second = await target.newSandbox({}, team);
      for (const operation of ['resumeSandbox', 'connectSandboxV2'])
        assertFailure(await call(team, operation, { path: { sandboxID: first.sandboxId }, body: {} }), {
          status: 429,
        });
      assertStatus(await call(team, 'killSandbox', { path: { sandboxID: second.sandboxId } }), 204);
      assertStatus(await call(team, 'resumeSandbox', { path: { sandboxID: first.sandboxId } }), 201);
      assertStatus(await call(team, 'killSandbox', { path: { sandboxID: first.sandboxId } }), 204);
    },
  },
  {
    name: 'the same idempotency key makes one sandbox',
    operation: 'createSandboxV2',
    expects: 'success',
    run: async (target) => {
      const headers = { 'Idempotency-Key': unique('key').replaceAll('-', '') };
      const body = { templateID: target.template, timeout: 60 };
      const first = await call(target, 'createSandboxV2', { body, headers });
      const second = await call(target, 'createSandboxV2', { body, headers });
      assert.equal(second.status, 201);
      assert.deepEqual(second.json(), first.json());
      const other = await call(target, 'createSandboxV2', { body: { ...body, timeout: 61 }, headers });
      assertFailure(other, { status: 409, errorCode: 'idempotency_request_mismatch' });
      await kill(target, (first.json() as Made).sandboxID);
    },
  },
  {
    name: 'an idempotency key repeats a failure too',
    operation: 'createSandboxV2',
    expects: '404 template',
    run: async (target) => {
      const headers = { 'Idempotency-Key': unique('key').replaceAll('-', '') };
      const body = { templateID: 'no-such-template' };
      const first = await call(target, 'createSandboxV2', { body, headers });
      const second = await call(target, 'createSandboxV2', { body, headers });
      assert.equal(first.status, 404);
      assert.deepEqual(second.json(), first.json());
    },
  },
  {
    name: 'a bad idempotency key is refused',
    operation: 'createSandboxV2',
    expects: '400 Idempotency-Key',
    run: async (target) => {
      for (const key of ['Upper', 'with-dash', 'x'.repeat(256)])
        assertFailure(
          await call(target, 'createSandboxV2', {
            body: { templateID: target.template },
            headers: { 'Idempotency-Key': key },
          }),
          { status: 400 },
        );
    },
  },
  {
    name: 'two creates at once under one idempotency key make one sandbox',
    operation: 'createSandboxV2',
    expects: '409 idempotency',
    run: async (target) => {
      const headers = { 'Idempotency-Key': unique('key').replaceAll('-', '') };
      const body = { templateID: target.template, timeout: 60 };
      const answers = await Promise.all(
        [1, 2, 3].map(() => call(target, 'createSandboxV2', { body, headers })),
      );
      const made = answers
        .filter((answer) => answer.status === 201)
        .map((answer) => (answer.json() as Made).sandboxID);
      assert.equal(new Set(made).size, 1);
      for (const answer of answers.filter((one) => one.status !== 201))
        assertFailure(answer, { status: 409, errorCode: 'idempotency_in_progress' });
      await kill(target, made[0]!);
    },
  },
]);
