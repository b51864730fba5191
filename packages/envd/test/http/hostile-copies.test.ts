import { once } from 'node:events';
import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { startDaemon, type TestDaemon } from '../test-daemon.js';

let daemon: TestDaemon;
beforeEach(async () => {
  daemon = await startDaemon();
});
afterEach(() => daemon.stop());

const init = (body: object, token?: string) =>
  fetch(`${daemon.url}/init`, {
    method: 'POST',
    body: JSON.stringify(body),
    headers: token === undefined ? {} : { 'X-Access-Token': token },
  }).then(({ status }) => status);
const envs = (token: string) => fetch(`${daemon.url}/envs`, { headers: { 'X-Access-Token': token } });
/** Asks for the variables; settles once the daemon has the request, with what becomes of it. */
const asked = async (token: string) => {
  const sent = request(`${daemon.url}/envs`, {
    headers: { 'X-Access-Token': token, Expect: '100-continue' },
    agent: false,
  });
  const answer = new Promise<string>((resolve) => {
    sent.once('response', (response) => void text(response).then(resolve));
    sent.once('error', () => resolve('broken off'));
  });
  sent.flushHeaders();
  await once(sent, 'continue');
  sent.end();
  return { answer };
};
const health = () => fetch(`${daemon.url}/health`).then(({ status }) => status);

it('before its memory is copied the daemon drops its variables and token, and holds requests until it is told a new one', async () => {
  expect(await init({ accessToken: 'first', envVars: { A: '1' } })).toBe(204);
  expect(await init({ quiesced: true, accessToken: 'image', envVars: {} }, 'first')).toBe(204);
  expect(await health()).toBe(204);
  const held = await asked('first');
  expect((await envs('wrong')).status).toBe(401);
  // The one who says it again, because the answer was lost, changes nothing.
  expect(await init({ quiesced: true, accessToken: 'image', envVars: {} }, 'first')).toBe(204);
  expect(await init({ quiesced: false, accessToken: 'second', envVars: { A: '1' } }, 'first')).toBe(204);
  expect(JSON.parse(await held.answer)).toEqual({ A: '1' });
  expect((await envs('second')).status).toBe(200);
  for (const dead of ['first', 'image']) expect((await envs(dead)).status).toBe(401);
});

it('a copy that is told its token by that of the image discards what the original held', async () => {
  expect(await init({ accessToken: 'first' })).toBe(204);
  expect(await init({ quiesced: true, accessToken: 'image' }, 'first')).toBe(204);
  const held = await asked('first');
  expect(await init({ quiesced: false, accessToken: 'copy' }, 'image')).toBe(204);
  expect(await held.answer).toBe('broken off');
  expect((await envs('copy')).status).toBe(200);
  expect((await envs('first')).status).toBe(401);
});
