// Records a session with the real service into a file, then plays it without one: what was recorded on a developer's machine
// is what the tests see from then on.
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from '@svc/sdk';
import { record, replay } from '@svc/testing';

/** The function under test: asks a sandbox for the sum of some numbers, and follows how it is counted. */
async function addUp(client, numbers) {
  const sandbox = await client.sandboxes.create();
  try {
    await sandbox.files.write('numbers.txt', numbers.join('\n'));
    const partial = [];
    const line = `s=0; while read n; do s=$((s+n)); echo $s; done < <(cat numbers.txt; echo)`;
    const { stdout } = await sandbox.commands.run(line, { onStdout: (text) => void partial.push(text) });
    return {
      sum: Number(stdout.trim().split('\n').at(-1)),
      seen: partial.join('').trim().split('\n').join(' '),
    };
  } finally {
    await sandbox.kill();
  }
}

const directory = await mkdtemp(join(tmpdir(), 'svc-cassette-'));
const cassette = join(directory, 'add-up.jsonl');
try {
  const recording = record(cassette);
  const live = await addUp(new Client({ fetch: recording.fetch }), [1, 2, 3]);
  await recording.close();
  console.log(`recorded: ${live.seen} -> ${live.sum}`);

  const text = await readFile(cassette, 'utf8');
  const key = process.env.SVC_API_KEY;
  console.log(
    `${text.trim().split('\n').length > 10 ? 'a readable file' : 'nothing'}, key in it: ${text.includes(key)}`,
  );

  const tape = await replay(cassette);
  const played = await addUp(new Client({ fetch: tape.fetch, apiKey: 'svc_00' }), [1, 2, 3]);
  tape.close();
  console.log(`replayed: ${played.seen} -> ${played.sum}`);

  const strict = await replay(cassette);
  const other = new Client({ fetch: strict.fetch, apiKey: 'svc_00' });
  await other.sandboxes.create({ metadata: { not: 'recorded' } }).catch((error) => {
    console.log(
      `strict: ${error.message.includes('The nearest recorded one') ? 'shows the nearest request' : error}`,
    );
  });
} finally {
  await rm(directory, { recursive: true, force: true });
}
