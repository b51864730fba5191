import type { ProcessEvent, ProcessEvent_EndEvent } from '@svc/daemon/gen';

export interface Collected {
  pid: number;
  stdout: string;
  stderr: string;
  pty: string;
  bytes: number;
  end: ProcessEvent_EndEvent | undefined;
}

/** Reads a process stream to its end. */
export async function collect(
  stream: AsyncIterable<{ event?: ProcessEvent | undefined }>,
): Promise<Collected> {
  const parts: Record<'stdout' | 'stderr' | 'pty', Uint8Array[]> = { stdout: [], stderr: [], pty: [] };
  let pid = 0;
  let bytes = 0;
  let end: ProcessEvent_EndEvent | undefined;
  for await (const { event } of stream) {
    const { event: inner } = event!;
    if (inner.case === 'start') pid = inner.value.pid;
    if (inner.case === 'end') end = inner.value;
    if (inner.case === 'data' && inner.value.output.case) {
      parts[inner.value.output.case].push(inner.value.output.value);
      bytes += inner.value.output.value.length;
    }
  }
  const text = (kind: keyof typeof parts) => Buffer.concat(parts[kind]).toString('utf8');
  return { pid, bytes, end, stdout: text('stdout'), stderr: text('stderr'), pty: text('pty') };
}

/** The request that runs a line of shell. */
export function shell(line: string, more: { stdin?: boolean; tag?: string } = {}) {
  return { process: { cmd: 'sh', args: ['-c', line] }, stdin: false, ...more };
}
