import http from 'node:http';
import https from 'node:https';
import type { Duplex } from 'node:stream';
import type { Sandbox } from '@svc/sdk';

/** Port of the daemon in every sandbox. */
const daemonPort = 49983;
/** Longest time until the daemon answers, ms; it gives a target 30 s. */
const limitMs = 40_000;
/** Longest refusal that is read, bytes. */
const maxAnswerBytes = 16 * 1024;

export interface StreamRequest {
  /** Path and query of the daemon's route, and the protocol that it is asked to speak. */
  path: string;
  protocol: string;
  /** Undefined: the sandbox's default user. */
  user?: string | undefined;
}

/**
 * Opens a stream of bytes through the gateway to the daemon of a sandbox.
 * @throws Error that says why the daemon or the gateway refused it
 */
export function openStream(sandbox: Sandbox, { path, protocol, user }: StreamRequest): Promise<Duplex> {
  const { url, headers } = sandbox.routeTo(daemonPort);
  const { request } = url.startsWith('https:') ? https : http;
  const asked = request(`${url}${path}`, {
    agent: false,
    // Ends of the two directions are distinguished, as in any connection.
    ...{ allowHalfOpen: true },
    timeout: limitMs,
    headers: {
      ...headers,
      ...(sandbox.accessToken === undefined ? {} : { 'X-Access-Token': sandbox.accessToken }),
      ...(user === undefined ? {} : { Authorization: `Basic ${Buffer.from(`${user}:`).toString('base64')}` }),
      Connection: 'Upgrade',
      Upgrade: protocol,
    },
  });
  return new Promise((resolve, reject) => {
    asked.once('upgrade', (_, socket, head) => {
      socket.setTimeout(0);
      socket.setNoDelay(true);
      if (head.length > 0) socket.unshift(head);
      resolve(socket);
    });
    asked.once('response', (answer) => {
      const chunks: Buffer[] = [];
      let length = 0;
      answer.on('data', (chunk: Buffer) => {
        length += chunk.length;
        if (length <= maxAnswerBytes) chunks.push(chunk);
        else answer.destroy();
      });
      answer.once('close', () => reject(new Error(reasonOf(answer.statusCode, Buffer.concat(chunks)))));
    });
    asked.once('timeout', () => asked.destroy(new Error('the sandbox does not answer')));
    asked.once('error', reject);
    asked.end();
  });
}

/** Returns the reason of a refusal. */
function reasonOf(status: number | undefined, body: Buffer): string {
  try {
    const { message } = JSON.parse(body.toString('utf8')) as { message?: unknown };
    if (typeof message === 'string') {
      if (/^no route /.test(message))
        return 'the daemon of this sandbox is too old for it: create a new sandbox';
      return message;
    }
  } catch {
    // Said below.
  }
  return `the gateway answered ${status}`;
}
