import { expect, it } from 'vitest';
import { startTestServer } from '../support/server.js';

it('the status and the metrics count paused sandboxes that are stored, before anybody asks for them', async () => {
  await using test = await startTestServer();
  const counts = async () => {
    const status = await (await fetch(`${test.server.operatorUrl}/status`)).json();
    const metrics = await (await fetch(`${test.server.operatorUrl}/metrics`)).text();
    return [status.sandboxes, /svc_sandboxes\{state="paused"\} (\d+)/.exec(metrics)?.[1]];
  };
  for (const pause of [true, true, false]) {
    const made = await test.api('POST', '/v2/sandboxes', { templateID: 'base' });
    if (pause)
      expect(
        (await test.api('POST', `/sandboxes/${made.body.sandboxID}/pause`, { memory: false })).status,
      ).toBe(204);
  }
  const expected = [expect.objectContaining({ running: 1, paused: 2, changing: 0 }), '2'];
  expect(await counts()).toEqual(expected);
  await test.restart();
  expect(await counts()).toEqual(expected);
});

it('the status and the metrics report the promises that the driver cannot keep', async () => {
  await using test = await startTestServer();
  const read = async () => {
    const { problems } = await (await fetch(`${test.server.operatorUrl}/status`)).json();
    const metrics = await (await fetch(`${test.server.operatorUrl}/metrics`)).text();
    return [problems, /^svc_driver_problems (\d+)$/m.exec(metrics)?.[1]];
  };
  expect(await read()).toEqual([undefined, '0']);
  test.server.context.driver.problems = () => ['The fence of m1 does not hold.'];
  expect(await read()).toEqual([['The fence of m1 does not hold.'], '1']);
});
