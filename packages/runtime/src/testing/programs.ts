import { eventually } from '#support/eventually';
import type { DaemonClient, RunningCommand } from './daemon-client.js';

/** Starts a server inside that sends back what it gets; gives its port. Perl is part of every Debian. */
export async function echoServer(client: DaemonClient, address: string): Promise<number> {
  const program = [
    '$| = 1;',
    `$s = IO::Socket::INET->new(LocalAddr => "${address}", LocalPort => 0, Listen => 16, ReuseAddr => 1) or die $!;`,
    'print $s->sockport, "\\n";',
    'while ($c = $s->accept) { while (sysread($c, $b, 65536)) { for ($o = 0; $o < length $b; ) { $n = syswrite($c, $b, length($b) - $o, $o); last unless $n; $o += $n } } close $c }',
  ].join(' ');
  const running = await client.start(`exec perl -MIO::Socket::INET -e '${program}'`);
  return firstNumber(running);
}

async function firstNumber(running: RunningCommand): Promise<number> {
  const line = await Promise.race([
    eventually('the port of the program inside', () => /^(\d+)\n/.exec(running.stdout())?.[1]),
    running.result.then(({ stderr }) => Promise.reject(new Error(`The program ended: ${stderr}`))),
  ]);
  return Number(line);
}

/** Starts a program inside that appends the time, in ms, to the file `ticks` again and again. */
export async function startTicking(client: DaemonClient): Promise<void> {
  const running = await client.start('while :; do date +%s%3N >> ticks; sleep 0.02; done');
  running.result.catch(() => undefined);
  running.leave();
  await eventually('the first tick', async () => (await readTicks(client)).length > 0);
}

export async function readTicks(client: DaemonClient): Promise<number[]> {
  const { stdout } = await client.run('cat ticks 2>/dev/null');
  return stdout.split('\n').filter(Boolean).map(Number);
}

/** Starts a program inside that counts up in memory alone, shown in the file `count`. */
export async function startCounting(client: DaemonClient): Promise<void> {
  const script = 'i=0; while :; do i=$((i+1)); echo $i > count.new; mv count.new count; sleep 0.02; done';
  const running = await client.start(script);
  running.result.catch(() => undefined);
  running.leave();
  await countReaches(client, 3);
}

export async function readCount(client: DaemonClient): Promise<number> {
  return Number(await client.output('cat count'));
}

export function countReaches(client: DaemonClient, goal: number): Promise<number> {
  return eventually(`the count to reach ${goal}`, async () => {
    const count = await readCount(client);
    return count >= goal ? count : undefined;
  });
}
