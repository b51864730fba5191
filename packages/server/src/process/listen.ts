import type { Server as HttpServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Listens and gives the base URL. @param scheme what it speaks */
export async function listen(
  server: HttpServer,
  host: string,
  port: number,
  scheme: 'http' | 'https' = 'http',
): Promise<string> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port }, () => {
      server.removeListener('error', reject);
      resolve();
    });
  });
  return urlOf(host, (server.address() as AddressInfo).port, scheme);
}

/** A URL that reaches a listener on this machine. */
export function urlOf(host: string, port: number, scheme: 'http' | 'https' = 'http'): string {
  const reachable =
    host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '[::1]' : host.includes(':') ? `[${host}]` : host;
  return `${scheme}://${reachable}:${port}`;
}
