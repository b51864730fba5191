import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { Workbench } from '../src/testing/workbench.js';
import { gvisorDriver } from './gvisor-host.js';
import { gvisorSkipReason } from './linux-host.js';

const skip = gvisorSkipReason();

/** What everybody should know to work who changes the driver; the whole suites run with `SVC_GVISOR=1`. */
describe.skipIf(skip !== undefined)(`sandboxes on gVisor's kernel ${skip ?? ''}`, () => {
  const bench = new Workbench((options) => gvisorDriver(options));
  beforeAll(() => bench.open());
  afterEach(() => bench.sweep());
  afterAll(async () => {
    await bench.close();
    await bench.remove();
  });

  it('have a kernel of their own, their own amount of memory, and files on their own disk', async () => {
    expect(bench.driver.capabilities).toMatchObject({
      isolation: 'gvisor',
      memorySnapshot: false,
      limits: true,
    });
    expect(bench.driver.summary).toContain('gVisor');
    const { client } = await bench.create({ limits: { memoryMiB: 256 } });
    expect(await client.output('cat /proc/version')).toMatch(/^Linux version 4\.4\.0/);
    expect(await client.output('sed -n "s/^MemTotal: *//p" /proc/meminfo')).toBe('262144 kB');
    const mounted = await client.output('cut -d " " -f 2,3 /proc/mounts');
    expect(mounted.split('\n')).not.toContain('/tmp tmpfs');
  });

  it('are named when they leave the pool, inside too', async () => {
    const spec = bench.spec({ limits: { memoryMiB: 192 } });
    bench.driver.setPool([{ spec, size: 1 }]);
    await bench.driver.poolReady();
    bench.driver.setPool([]);
    const { instance, client } = await bench.create({ limits: { memoryMiB: 192 } });
    expect(await client.output('hostname; sed -n "1s/.* //p" /etc/hosts; cat /etc/hostname')).toBe(
      `${instance.id}\n${instance.id}\n${instance.id}`,
    );
  });

  it('stop where they stand and go on, and copies of their files have a name of their own', async () => {
    const { instance, client } = await bench.create();
    await client.output('echo shared > note; echo kept > /tmp/note');
    await instance.freeze();
    expect((await bench.driver.list())[0]?.state).toBe('frozen');
    await instance.thaw();
    await instance.checkpoint({ checkpointId: 'files', memory: false, then: 'continue' });
    await client.output('echo changed > note');
    const copy = await bench.restore('files', false);
    expect(await copy.client.output('cat note /tmp/note; hostname')).toBe(
      `shared\nkept\n${copy.instance.id}`,
    );
  });
});
