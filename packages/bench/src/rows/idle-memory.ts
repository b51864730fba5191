import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { below, type Row, runs } from '../row.js';
import { SPEC, withDriver } from '../support/driver-floor.js';
import { daemons, proportionalMiB } from '../support/processes.js';

/** Mean of as many Node processes that do nothing. */
async function bareNode(count: number): Promise<number> {
  const children: ChildProcess[] = [];
  const code = 'setInterval(() => {}, 1e9); process.send("up")';
  try {
    for (let index = 0; index < count; index++) {
      const child = spawn(process.execPath, ['-e', code], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
      children.push(child);
      await once(child, 'message');
    }
    return children.reduce((total, child) => total + proportionalMiB(child.pid!), 0) / count;
  } finally {
    for (const child of children) child.kill('SIGKILL');
  }
}

export const idleMemory: Row = {
  id: 'idle-memory',
  about: 'memory of an idle sandbox: proportional share of its daemon',
  async run(context) {
    const count = runs(context, 20, 2);
    const bare = await bareNode(count);
    return withDriver(context, async (driver) => {
      const before = new Set(daemons());
      for (let index = 0; index < count; index++) await driver.create({ id: `idle${index}`, spec: SPEC });
      const ours = daemons().filter((pid) => !before.has(pid));
      const value = ours.reduce((sum, pid) => sum + proportionalMiB(pid), 0) / count;
      return [
        {
          id: 'idle-memory',
          what: 'idle sandbox, proportional memory (PSS)',
          value,
          unit: 'MiB' as const,
          beside: [{ name: 'a Node process that does nothing', value: bare, unit: 'MiB' as const }],
          target: below(value, 11, '<= 11 MiB'),
          how: `mean over ${count} sandboxes, ${context.driver} driver`,
        },
      ];
    });
  },
};
