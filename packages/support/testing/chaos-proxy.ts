import { createServer, request as httpRequest, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A proxy in front of the gateway that can break connections, to see what the client makes of it. */
export async function chaosProxy(target: string) {
  let down = false;
  const open = new Set<{ path: string; response: ServerResponse }>();
  const server = createServer((request, response) => {
    if (down) return void request.socket.destroy();
    const entry = { path: request.url ?? '', response };
    open.add(entry);
    response.once('close', () => open.delete(entry));
    const { hostname, port } = new URL(target);
    const onward = httpRequest(
      { hostname, port, method: request.method, path: request.url, headers: request.headers, agent: false },
      (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        response.flushHeaders();
        answer.pipe(response);
      },
    );
    onward.on('error', () => response.destroy());
    response.once('close', () => onward.destroy());
    request.pipe(onward);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** Cuts every open request whose path ends so. Returns how many. */
    cut(suffix: string): number {
      const found = [...open].filter(({ path }) => path.endsWith(suffix));
      for (const { response } of found) response.socket?.destroy();
      return found.length;
    },
    /** While down, breaks off every open request and all that come. */
    setDown(value: boolean): void {
      down = value;
      if (down) server.closeAllConnections();
    },
    async close(): Promise<void> {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
