/** State of a listening socket in `/proc/net/tcp`. */
const LISTEN = '0A';

/** Ports that programs listen on, from the text of `/proc/net/tcp` and `/proc/net/tcp6`, each once, lowest first. */
export function listeningPorts(tables: readonly string[]): number[] {
  const ports = new Set<number>();
  for (const line of tables.flatMap((table) => table.split('\n'))) {
    const [, local = '', , state] = line.trim().split(/\s+/);
    const port = /:([0-9A-F]{4})$/i.exec(local)?.[1];
    if (state === LISTEN && port !== undefined) ports.add(Number.parseInt(port, 16));
  }
  return [...ports].sort((a, b) => a - b);
}
