import type { Server as HttpServer } from 'node:http';
import type { createGatewayServer } from './gateway.js';

/** Closes a server and breaks off what is still under way. */
export async function closeServer(server: HttpServer): Promise<void> {
  if (!server.listening) return;
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeAllConnections();
  await closed;
}

/**
 * Closes the gateway. What is under way is broken off, not answered: the sandbox goes on, so that no answer would be
 * true, and clients look for their programs again.
 */
export async function closeGateway({
  server,
  gateway,
  forwarder,
  guard,
}: ReturnType<typeof createGatewayServer>): Promise<void> {
  const closed = closeServer(server);
  // Upgraded connections are no longer the server's to close, but it waits for them.
  void gateway.close();
  forwarder.close();
  guard.closeAll();
  await closed;
}
