/** The answer of `/status`. */
export interface Status {
  state: string;
  reason?: string;
  nodeId: string;
  apiUrl: string;
  sandboxUrl: string;
  driver: { name: string; summary: string; why: string };
  storage: string;
  uptimeSeconds: number;
  sandboxes: { running: number; paused: number; changing: number; most: number };
  disk: {
    freeMiB: number;
    reserveMiB: number;
    store?: { usedMiB: number; freeMiB: number; totalMiB: number };
  };
}

export async function readStatus(signal: AbortSignal): Promise<Status> {
  return (await (await read('/status', signal)).json()) as Status;
}

/** Prometheus' text format. */
export async function readMetrics(signal: AbortSignal): Promise<string> {
  return (await read('/metrics', signal)).text();
}

async function read(path: string, signal: AbortSignal): Promise<Response> {
  const response = await fetch(path, { signal });
  if (!response.ok) throw new Error(`The server answered ${response.status} to ${path}.`);
  return response;
}
