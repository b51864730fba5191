import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { check, type Draft } from '../../case.js';
import { assertRecord, knock, to } from '../../requests/knock.js';
import { kill } from '../../requests/sandboxes.js';
import { assertStatus, call, callOk } from '../../wire/call.js';
import { startProcess } from '../../wire/run.js';
import { serveEcho } from './echo.js';

const HTTPS_PORT = 8_443;
const PLAIN_PORT = 8_080;
/** A certificate that nobody signed: it is not verified. */
const CERTIFICATE =
  'cd /tmp && openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout key.pem -out cert.pem -days 2 -subj /CN=x 2> /dev/null';
const SERVER = `
const { readFileSync } = require('fs');
const say = (text) => (request, response) => response.end(text);
require('https').createServer({ key: readFileSync('key.pem'), cert: readFileSync('cert.pem') }, say('by TLS')).listen(${HTTPS_PORT}, () =>
  require('http').createServer(say('in the clear')).listen(${PLAIN_PORT}, () => console.log('ready')));
`;

interface PrivateSandbox {
  sandboxID: string;
  envdAccessToken: string;
  trafficAccessToken: string;
  templateID: string;
}

/** A link by the rule of `spec/daemon.yaml`. */
function previewLink(
  { sandboxID, trafficAccessToken }: PrivateSandbox,
  port: number,
  seconds: number,
): string {
  const expiry = Math.floor(Date.now() / 1000) + seconds;
  const mac = createHmac('sha256', trafficAccessToken).update(`v1\n${sandboxID}\n${port}\n${expiry}`);
  return `v1.${expiry}.${mac.digest('base64url')}`;
}

/** Changes that the network settings of a sandbox make on the way in. */
export const networkSettingCases: Draft[] = [
  check(
    'a private port needs the traffic token, the daemon does not',
    ['gateway', '403 private'],
    async (target) => {
      const answer = await call(target, 'createSandboxV2', {
        body: { templateID: target.template, timeout: 120, network: { allowPublicTraffic: false } },
      });
      const made = assertStatus<PrivateSandbox>(answer, 201);
      const sandbox = {
        sandboxUrl: target.sandboxUrl,
        sandboxId: made.sandboxID,
        accessToken: made.envdAccessToken,
        templateId: made.templateID,
      };
      const echo = await serveEcho(sandbox);
      for (const token of [undefined, 'wrong', made.envdAccessToken]) {
        const refused = await knock(target, {
          ...to(made.sandboxID, echo.port),
          'Svc-Traffic-Access-Token': token,
        });
        assert.match(assertRecord(refused, 403).message as string, /Svc-Traffic-Access-Token|private/i);
      }
      const admitted = await knock(target, {
        ...to(made.sandboxID, echo.port),
        'svc-traffic-access-token': made.trafficAccessToken,
      });
      const got = assertStatus<{ headers: Record<string, string> }>(admitted, 200);
      assert.equal(got.headers['svc-traffic-access-token'], undefined, 'the token is not passed on');
      echo.stop();
      await kill(target, made.sandboxID);
    },
  ),
  check(
    'a preview link opens its private port until it expires, and nothing else',
    ['gateway', '307 preview link'],
    async (target) => {
      const make = async () => {
        const answer = await call(target, 'createSandboxV2', {
          body: { templateID: target.template, timeout: 120, network: { allowPublicTraffic: false } },
        });
        return assertStatus<PrivateSandbox>(answer, 201);
      };
      const [made, other] = await Promise.all([make(), make()]);
      const echo = await serveEcho({
        sandboxUrl: target.sandboxUrl,
        sandboxId: made.sandboxID,
        accessToken: made.envdAccessToken,
        templateId: made.templateID,
      });
      const link = previewLink(made, echo.port, 60);
      const host = { Host: `${echo.port}-${made.sandboxID}.${target.domain ?? 'example.com'}` };
      const seen = assertStatus<{ url: string; headers: Record<string, string> }>(
        await knock(target, { ...host, Cookie: `a=b; svc_preview=${link}` }, `/x?svc_preview=${link}&y=1`),
        200,
      );
      assert.equal(seen.url, '/x?y=1', 'the service does not see the link');
      assert.equal(seen.headers.cookie, 'a=b', 'nor the cookie');

      const browser = { ...host, 'User-Agent': 'Mozilla/5.0', Accept: 'text/html' };
      const sent = await knock(target, browser, `//x?svc_preview=${link}`);
      assert.equal(sent.status, 307, sent.text);
      assert.equal(
        new URL(sent.headers.location ?? '', 'http://same.example').href,
        'http://same.example//x',
      );
      assert.equal(sent.headers['cache-control'], 'no-store');
      assert.equal(sent.headers['referrer-policy'], 'no-referrer');
      const cookie = String(sent.headers['set-cookie']);
      assert.match(cookie, /^(__Host-)?svc_preview=[^;]+; Path=\/; Max-Age=\d+; HttpOnly; /);
      assert.equal((await knock(target, { ...browser, Cookie: cookie.split(';')[0] })).status, 200);

      const messages = new Set<unknown>();
      for (const wrong of [
        previewLink(made, echo.port, -1),
        previewLink(made, echo.port + 1, 60),
        previewLink(other, echo.port, 60),
        previewLink({ ...made, trafficAccessToken: other.trafficAccessToken }, echo.port, 60),
        `${link.slice(0, -2)}__`,
      ])
        messages.add(assertRecord(await knock(target, host, `/?svc_preview=${wrong}`), 403).message);
      assert.equal(messages.size, 1, 'what is wrong with a link is not reported');
      const foreign = { ...host, Cookie: `svc_preview=${link}`, Origin: 'https://elsewhere.example' };
      assertRecord(await knock(target, foreign), 403);
      echo.stop();
      await Promise.all([made, other].map(({ sandboxID }) => kill(target, sandboxID)));
    },
  ),
  check('maskRequestHost changes the host that the service sees', ['gateway', 'success'], async (target) => {
    const sandbox = await target.newSandbox({
      network: { maskRequestHost: `masked.example.com:\${PORT}` },
    });
    const echo = await serveEcho(sandbox);
    const host = `${echo.port}-${sandbox.sandboxId}.${target.domain ?? 'example.com'}`;
    const got = assertStatus<{ headers: Record<string, string> }>(await knock(target, { Host: host }), 200);
    assert.equal(got.headers.host, `masked.example.com:${echo.port}`);
    assert.equal(got.headers['x-forwarded-host'], host);
    echo.stop();
    await kill(target, sandbox.sandboxId);
  }),
  check(
    'ports of httpsPorts are spoken to by TLS, others are not, after a pause too',
    ['gateway', 'success', { needs: ['isolation'] }],
    async (target) => {
      const sandbox = await target.newSandbox({ network: { httpsPorts: [HTTPS_PORT] } });
      const script = `${CERTIFICATE}; exec node -e "$0"`;
      const server = await startProcess(sandbox, { cmd: '/bin/sh', args: ['-c', script, SERVER] });
      await server.until('ready\n');
      server.leave();
      const says = async (port: number) => {
        const { text } = await knock(target, to(sandbox.sandboxId, port));
        return text;
      };
      assert.deepEqual([await says(HTTPS_PORT), await says(PLAIN_PORT)], ['by TLS', 'in the clear']);
      const path = { sandboxID: sandbox.sandboxId };
      if (target.capabilities.has('memory')) {
        await callOk(target, 'pauseSandbox', 204, { path });
        await callOk(target, 'resumeSandbox', 201, { path, body: { timeout: 120 } });
        assert.deepEqual([await says(HTTPS_PORT), await says(PLAIN_PORT)], ['by TLS', 'in the clear']);
      }
      await callOk(target, 'killSandbox', 204, { path });
    },
  ),
];
