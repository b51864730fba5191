import type { Sandbox } from '@svc/sdk';

/** Longest time to wait for a signal to be sent, ms. */
const limitMs = 3_000;

/** Sends a signal to a process, by its user. That it has ended is no failure. @param name without `SIG` */
export async function signalProcess(
  sandbox: Sandbox,
  pid: number,
  name: string,
  user: string | undefined,
): Promise<void> {
  if (!/^[A-Z][A-Z0-9]{1,7}$/.test(name)) return;
  const line = `kill -s ${name} ${pid} 2>/dev/null`;
  await sandbox.commands.run(line, { user, check: false, timeoutMs: limitMs }).catch(() => undefined);
}
