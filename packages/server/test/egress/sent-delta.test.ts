import { forwardedOf } from '@svc/network-policy';
import { checkHost, linuxDriverCanRun } from '@svc/runtime/host';
import { type DaemonClient, type MadeInstance, WORLD } from '@svc/runtime/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type EgressFixture, openEgressFixture } from './egress-fixture.js';

const runs = linuxDriverCanRun(await checkHost({}));
const SENT = 1_000_000;
/** Headers of packets, and what is sent again. */
const MOST = 1.3 * SENT;
/** Of the end of a connection. */
const FEW = 1_000;

describe.skipIf(!runs)('what sandboxes send to the outside', { timeout: 180_000 }, () => {
  let fixture: EgressFixture;
  beforeAll(async () => {
    fixture = await openEgressFixture({ rawSockets: true });
  });
  afterEach(() => fixture.bench.sweep());
  afterAll(() => fixture?.close());

  const counts = async () =>
    Object.fromEntries(
      (await fixture.bench.driver.sentBytes!()).map(({ instanceId, bytes }) => [instanceId, bytes]),
    );
  const sentBy = async ({ instance }: MadeInstance) => (await counts())[instance.id] ?? 0;
  /** Sends so many bytes to a host of the fake internet. */
  const upload = async (client: DaemonClient, bytes = SENT) => {
    const { exitCode, stderr } = await client.run(
      `head -c ${bytes} /dev/zero | curl -sf -m 60 -o /dev/null -H 'Expect:' --data-binary @- http://${WORLD.one}:8080/`,
    );
    expect([exitCode, stderr]).toEqual([0, '']);
  };

  it('is counted without settings of their network, for each by itself', async () => {
    const [one, two] = [
      await fixture.bench.create({ network: { egress: 'internet' } }),
      await fixture.bench.create({ network: { egress: 'internet' } }),
    ];
    await upload(one.client);
    const first = await sentBy(one);
    expect(first).toBeGreaterThan(SENT);
    expect(first).toBeLessThan(MOST);
    expect(await sentBy(two)).toBe(0);
    await upload(one.client);
    await upload(two.client);
    expect(await sentBy(one)).toBeGreaterThan(first + SENT);
    expect(await sentBy(two)).toBeLessThan(MOST);
  });

  it('is counted when the kernel forwards by addresses, and no longer once it is refused', async () => {
    const made = await fixture.bench.create({ network: { egress: 'governed' } });
    const policy = { allowOut: [`${WORLD.one}/32`], denyOut: ['0.0.0.0/0'], rules: {} };
    await made.instance.setForwarded!(forwardedOf(policy));
    await upload(made.client);
    const sent = await sentBy(made);
    expect(sent).toBeGreaterThan(SENT);
    expect(sent).toBeLessThan(MOST);
    await made.instance.setNetwork({ egress: 'none' });
    const { exitCode } = await made.client.run(`curl -s -m 10 -o /dev/null http://${WORLD.one}:8080/`);
    expect(exitCode).not.toBe(0);
    // The end of a connection may still be on its way.
    expect(await sentBy(made)).toBeLessThan(sent + FEW);
  });

  it('has nothing of what the host fetches from inside', async () => {
    const made = await fixture.bench.create({ network: { egress: 'internet' } });
    expect(await made.client.output(`head -c ${SENT} /dev/zero | tr '\\0' x`)).toHaveLength(SENT);
    expect(await sentBy(made)).toBe(0);
  });

  it('is reported once for one that ended before a reading, and not for the next at its address', async () => {
    const made = await fixture.bench.create({ network: { egress: 'internet' } });
    await upload(made.client);
    await made.instance.destroy();
    expect(await sentBy(made)).toBeGreaterThan(SENT);
    expect(await sentBy(made)).toBeLessThan(FEW);
    const again = await fixture.bench.create({ network: { egress: 'internet' } });
    expect(await sentBy(again)).toBe(0);
  });
});
