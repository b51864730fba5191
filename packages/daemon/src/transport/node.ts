import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { Socket } from 'node:net';
import type { Transport } from '@connectrpc/connect';
import type { UniversalClientFn } from '@connectrpc/connect/protocol';
import { createTransport } from '@connectrpc/connect/protocol-connect';
import { createConnectTransport } from '@connectrpc/connect-node';
import { sendUnheld, sendWhole } from './node-http-client.js';
import { type DefaultTransportOptions, MAX_MESSAGE_BYTES } from './options.js';

/** As those of Node's own agent. */
const agentOptions = { keepAlive: true, scheduling: 'lifo', timeout: 5_000 } as const;

/** Node's transport: HTTP/1.1, the binary codec, nothing compressed (output of programs costs more to pack than to send). */
export function createPlatformTransport({
  baseUrl,
  unrefStreams,
  readMaxBytes = MAX_MESSAGE_BYTES,
}: DefaultTransportOptions): Transport {
  const common = { baseUrl, useBinaryFormat: true, acceptCompression: [], readMaxBytes };
  const streamed = createConnectTransport({
    ...common,
    httpVersion: '1.1',
    ...(unrefStreams ? { nodeOptions: { agent: unrefAgent(baseUrl) } } : {}),
  });
  const over = (httpClient: UniversalClientFn) =>
    createTransport({
      ...common,
      httpClient,
      interceptors: [],
      sendCompression: null,
      compressMinBytes: Number.POSITIVE_INFINITY,
      writeMaxBytes: 0xffffffff,
    });
  const whole = over(sendWhole);
  const answers = unrefStreams ? over(sendUnheld) : whole;
  return {
    unary: whole.unary,
    stream: (method, ...call) =>
      (method.methodKind === 'server_streaming' ? answers : streamed).stream(method, ...call),
  };
}

/** An agent whose connections do not keep the program running, not even while they are used. */
function unrefAgent(baseUrl: string): HttpAgent {
  const agent = new (baseUrl.startsWith('https:') ? HttpsAgent : HttpAgent)(agentOptions);
  const reuse = agent.reuseSocket;
  agent.reuseSocket = (socket, request) => {
    reuse.call(agent, socket, request);
    (socket as Partial<Socket>).unref?.();
  };
  const connect = agent.createConnection;
  agent.createConnection = (...call) => {
    const socket = connect.apply(agent, call);
    (socket as Partial<Socket> | undefined)?.unref?.();
    return socket;
  };
  return agent;
}
