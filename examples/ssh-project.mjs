// Sends a project into a sandbox with rsync and runs its tests there by ssh, as from any shell. The programs are those of this machine.
import { execFileSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Sandbox } from '@svc/sdk';

const run = (program, ...args) => execFileSync(program, args, { encoding: 'utf8' });
const project = await mkdtemp(join(tmpdir(), 'project-'));
const sandbox = await Sandbox.create({ timeoutMs: 120_000 });
try {
  await writeFile(join(project, 'sum.py'), 'def sum_to(n):\n    return n * (n + 1) // 2\n');
  await writeFile(
    join(project, 'test_sum.py'),
    `import unittest
from sum import sum_to

class SumTest(unittest.TestCase):
    def test_gauss(self):
        self.assertEqual(sum_to(100), 5050)
`,
  );
  // Without --file it is ~/.ssh/config, and ssh needs no -F.
  const config = join(project, '.ssh-config');
  run('npx', '@svc/cli', 'ssh-config', '--write', '--file', config);
  const host = `${sandbox.id}.svc`;

  run('rsync', '-a', '--exclude', '.*', '-e', `ssh -F ${config}`, `${project}/`, `${host}:project/`);
  console.log(run('ssh', '-F', config, host, 'cd project && python3 -m unittest -v 2>&1'));
} finally {
  await sandbox.kill();
  await rm(project, { recursive: true });
}
