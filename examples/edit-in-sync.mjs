// Works on a directory of this machine and on its copy in a sandbox at the same time: what changes on one side appears on the other.
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Sandbox } from '@svc/sdk';
import { syncDirectory } from '@svc/sync';

const local = await mkdtemp(path.join(tmpdir(), 'svc-in-sync-'));
const sandbox = await Sandbox.create();
try {
  await writeFile(path.join(local, 'numbers.txt'), '3\n1\n2\n');
  const sync = await syncDirectory(sandbox, {
    local,
    remote: 'project',
    ignore: ['*.tmp'],
    onEvent: (event) => {
      if (event.type === 'change') console.log(`${event.side}: ${event.action} ${event.path}`);
      if (event.type === 'conflict')
        console.log(`conflict: ${event.path}, the other version is ${event.copy}`);
    },
  });

  // The sandbox works with what is here, and what it makes comes back.
  await sandbox.commands.run('cd project && sort -n numbers.txt > sorted.txt && touch scratch.tmp');
  await sync.flush();
  console.log(
    `sorted here: ${(await readFile(path.join(local, 'sorted.txt'), 'utf8')).trim().split('\n').join(' ')}`,
  );

  // An edit here is there when `flush` is done.
  await writeFile(path.join(local, 'numbers.txt'), '30\n10\n20\n');
  await sync.flush();
  const { stdout } = await sandbox.commands.run('sort -n project/numbers.txt | head -1');
  console.log(`smallest there: ${stdout.trim()}`);
  await sync.stop();

  // Both sides change one file while nobody looks: neither version is lost.
  await writeFile(path.join(local, 'numbers.txt'), 'mine\n');
  await sandbox.files.write('project/numbers.txt', 'theirs\n');
  await syncDirectory(sandbox, { local, remote: 'project', ignore: ['*.tmp'], watch: false });
  const versions = (await readdir(local)).filter((name) => name.startsWith('numbers.txt')).sort();
  for (const name of versions) {
    const text = await readFile(path.join(local, name), 'utf8');
    console.log(`${name.replace(/-\d{8}T\d{6}Z$/, '-TIME')}: ${text.trim()}`);
  }
} finally {
  await sandbox.kill();
  await rm(local, { recursive: true, force: true });
}
