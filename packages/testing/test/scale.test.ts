import { expect, it } from 'vitest';
import { TestService } from '../src/index.js';

/** By hand ten times as many. */
const count = process.env.SVC_HEAVY === '1' ? 10_000 : 1_000;

it('holds many sandboxes, which end in their order, and warns of nothing', {
  timeout: 120_000,
}, async () => {
  const warnings: string[] = [];
  const onWarning = (warning: Error) => void warnings.push(warning.message);
  process.on('warning', onWarning);
  await using service = new TestService();
  const { sandboxes } = service.client();
  for (let made = 0; made < count; made += 500)
    await Promise.all(
      Array.from({ length: 500 }, (_, index) =>
        sandboxes.create({ timeoutMs: 1_000 * (1 + ((made + index) % 100)) }),
      ),
    );
  const page = await sandboxes.list({ limit: 100 });
  expect([page.items.length, service.sandboxes.length]).toEqual([100, count]);
  await service.clock.advance(50_000);
  expect(service.sandboxes.filter(({ state }) => state === 'running')).toHaveLength(count / 2);
  await new Promise((resolve) => setImmediate(resolve));
  process.off('warning', onWarning);
  expect(warnings).toEqual([]);
});

it('refuses network settings by the rules of the service, and joins files', async () => {
  await using service = new TestService();
  const { sandboxes } = service.client();
  await expect(sandboxes.create({ network: { allowOut: ['example.com'] } })).rejects.toThrow(
    /denyOut must contain/,
  );
  await expect(sandboxes.create({ network: { denyOut: ['example.com'] } })).rejects.toThrow(
    /not an IP address/,
  );
  const { files } = await sandboxes.create();
  await files.write('a', 'one,');
  await files.write('b', 'two');
  await files.compose(['a', 'b'], 'both');
  expect([await files.read('both'), await files.exists('a')]).toEqual(['one,two', false]);
});
