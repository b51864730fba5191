import type { Duplex } from 'node:stream';

/** Answers with the daemon's error record, and closes. */
export function refuseUpgrade(client: Duplex, status: number, message: string): void {
  const body = Buffer.from(JSON.stringify({ code: status, message }));
  client.end(
    Buffer.concat([
      Buffer.from(
        `HTTP/1.1 ${status} Refused\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n`,
      ),
      body,
    ]),
  );
}
