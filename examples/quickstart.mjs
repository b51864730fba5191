// The main job in one program: a sandbox, a command with live output, files in and out, pause and resume,
// metrics and logs. Nothing is left behind.
import { Sandbox, SvcError } from '@svc/sdk';

const REPORT = `
import csv, json, sys, time
rows = list(csv.DictReader(open("sales.csv")))
total = 0
for number, row in enumerate(rows, 1):
    total += int(row["amount"])
    print(f"\\r  reading {'#' * number}{'.' * (len(rows) - number)} {number}/{len(rows)}", end="", flush=True)
    time.sleep(0.05)
print()
best = max(rows, key=lambda row: int(row["amount"]))
json.dump({"rows": len(rows), "total": total, "best": best["month"]}, open("report.json", "w"))
print("  wrote report.json", flush=True)
`;

const step = (text) => console.log(`\n-- ${text}`);
const started = performance.now();

step('Create a sandbox');
const sandbox = await Sandbox.create({ metadata: { purpose: 'quickstart' }, timeoutMs: 300_000 });
try {
  console.log(`${sandbox.id} after ${Math.round(performance.now() - started)} ms`);

  step('Upload a data set and a program');
  const sales = [
    'month,amount',
    ...Array.from({ length: 12 }, (_, i) => `2026-${String(i + 1).padStart(2, '0')},${(i * 37) % 100}`),
  ];
  await sandbox.files.writeMany([
    { path: 'sales.csv', data: `${sales.join('\n')}\n` },
    {
      path: 'report.py',
      data: REPORT,
    },
  ]);
  for (const entry of await sandbox.files.list('.'))
    console.log(`  ${entry.name} (${entry.sizeBytes} bytes)`);

  step('Run it, with its output as it comes');
  await sandbox.commands.run('python3 report.py', { onStdout: (text) => process.stdout.write(text) });

  step('Download the result');
  console.log(`  ${await sandbox.files.read('report.json')}`);

  step('Pause, resume, and continue');
  try {
    await sandbox.pause();
    console.log('  paused');
    await sandbox.resume();
    const again = await sandbox.commands.run('wc -l < sales.csv');
    console.log(`  resumed; sales.csv still has ${again.stdout.trim()} lines`);
  } catch (error) {
    if (!SvcError.is(error)) throw error;
    console.log(`  not here: ${error.message}`);
  }

  step('Metrics and logs');
  let latest;
  for (let wait = 0; latest === undefined && wait < 40; wait++) {
    latest = (await sandbox.metrics()).at(-1); // one sample every 5 seconds
    if (latest === undefined) await new Promise((resolve) => setTimeout(resolve, 250));
  }
  if (latest !== undefined)
    console.log(
      `  ${latest.cpuUsedPercent.toFixed(1)} % of ${latest.cpuCount} CPUs, ${(latest.memoryUsedBytes / 2 ** 20).toFixed(0)} MiB of memory`,
    );
  const logs = await sandbox.logs({ limit: 3 });
  for (const entry of logs)
    console.log(`  ${entry.timestamp.toISOString()} ${entry.message.split('\r').at(-1)}`);

  step(`Done in ${((performance.now() - started) / 1000).toFixed(1)} s; the sandbox ends with the program`);
} finally {
  await sandbox.kill();
}
