import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Delivery {
  headers: Record<string, string | string[] | undefined>;
  body: string;
}

export interface Receiver extends AsyncDisposable {
  url: string;
  got: Delivery[];
}

/** Listens for webhooks on this machine. @param answer status by the number of the delivery. */
export async function receive(answer: (index: number) => number = () => 204): Promise<Receiver> {
  const got: Delivery[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8');
    request.on('data', (piece: string) => {
      body += piece;
    });
    request.on('end', () => {
      const status = answer(got.length);
      got.push({ headers: request.headers, body });
      response.writeHead(status, status === 302 ? { Location: '/elsewhere' } : {}).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    got,
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}
