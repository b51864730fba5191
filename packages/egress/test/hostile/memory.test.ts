import { describe, expect, it } from 'vitest';
import { Pacer } from '../../src/limits/pacer.js';
import { MemoryGuard } from '../../src/sandboxes/memory-guard.js';
import { type OpenFlow, Registry } from '../../src/sandboxes/registry.js';
import { readAll, SANDBOX, startServer, startTestEgress } from '../support/egress.js';

function guarded() {
  const registry = new Registry({ allowRanges: [] });
  const state = { usedBytes: 0, cut: [] as string[] };
  const guard = new MemoryGuard({
    limitBytes: 1_000,
    registry,
    onCut: (address) => state.cut.push(address),
    usedBytes: () => state.usedBytes,
  });
  const open = (address: string, count: number, heldBytes: number) => {
    for (let at = 0; at < count; at += 1) {
      const flow: OpenFlow = { stays: () => true, cut: () => leave(), heldBytes };
      const leave = registry.add(address, flow);
    }
  };
  return { registry, state, guard, open };
}

describe('memory for the connections of all sandboxes', () => {
  it('is kept for those who have few when it gets scarce', () => {
    const { guard, state, open } = guarded();
    open('10.0.0.1', 100, 1);
    open('10.0.0.2', 3, 1);
    state.usedBytes = 699;
    guard.look(0);
    expect(guard.admits('10.0.0.1')).toBe(true);
    state.usedBytes = 700;
    guard.look(250);
    expect(guard.admits('10.0.0.1')).toBe(false);
    expect(guard.admits('10.0.0.2')).toBe(true);
    expect(guard.admits('10.0.0.3')).toBe(true);
    expect(state.cut).toEqual([]);
    state.usedBytes = 100;
    guard.look(500);
    expect(guard.admits('10.0.0.1')).toBe(true);
  });

  it('is taken from who holds most before it is used up, and time is left to give it back', () => {
    const { guard, state, open, registry } = guarded();
    open('10.0.0.1', 100, 1);
    open('10.0.0.2', 3, 90);
    open('10.0.0.3', 50, 2);
    state.usedBytes = 900;
    guard.look(1_000);
    expect(state.cut).toEqual(['10.0.0.2']);
    expect([registry.flowsOf('10.0.0.2'), registry.openFlows]).toEqual([0, 150]);
    guard.look(1_250);
    expect(state.cut).toHaveLength(1);
    guard.look(6_000);
    guard.look(11_000);
    guard.look(16_000);
    expect(state.cut.slice(1)).toEqual(['10.0.0.1', '10.0.0.3']);
    expect(registry.openFlows).toBe(0);
  });

  it('that is short costs connections and not the process', async () => {
    // Less than Node needs by itself.
    const egress = await startTestEgress({ memoryBytes: 2 ** 20 });
    const { port } = await startServer((socket) => socket.pipe(socket));
    await egress.control.setSandbox({
      id: 'sandbox',
      address: SANDBOX,
      policy: { allowOut: [], denyOut: [], rules: {} },
    });
    const socket = egress.connect({ port });
    socket.write('a');
    expect((await readAll(socket)).end).toBe('reset');
    expect(await egress.report(({ rule }) => rule === 'memory limit')).toMatchObject({ outcome: 'failed' });
  });
});

describe('connections that come faster than one sandbox may make them', () => {
  it('wait for their turn, and those of others do not', () => {
    let now = 5_000;
    const pacer = new Pacer({ burst: 10, perSecond: 100 }, () => now);
    expect(Array.from({ length: 12 }, () => pacer.take('hostile'))).toEqual([...Array(10).fill(0), 10, 20]);
    expect(pacer.take('other')).toBe(0);
    now += 30;
    expect(pacer.take('hostile')).toBe(0);
    expect(pacer.take('hostile')).toBe(10);
    now += 60_000;
    expect(pacer.take('hostile')).toBe(0);
  });
});
