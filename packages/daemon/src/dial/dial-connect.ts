import { Code, ConnectError, type Transport } from '@connectrpc/connect';
import { createTransport } from '@connectrpc/connect/protocol-connect';
import { collect } from '../transport/collect.js';
import { bodyOf, webHeaders } from '../transport/node-http-client.js';
import { exchange } from './exchange.js';
import type { DialTransportOptions } from './options.js';

/** See `createDialTransport`. */
export function createDialConnect({ dial, readMaxBytes }: DialTransportOptions): Transport {
  return createTransport({
    baseUrl: 'http://sandbox',
    httpClient: async ({ url, method, header, body, signal = new AbortController().signal }) => {
      const { pathname: path } = new URL(url);
      const request = { method, path, headers: Object.fromEntries(header) };
      const content = body && { body: await collect(body) };
      const answer = await exchange(dial, { ...request, ...content }, signal).catch((error: unknown) => {
        signal.throwIfAborted();
        const { message } = error as Error;
        throw new ConnectError(message, Code.Unavailable, undefined, undefined, error);
      });
      return {
        status: answer.statusCode ?? 0,
        header: webHeaders(answer.rawHeaders),
        body: bodyOf(answer, signal),
        trailer: new Headers(),
      };
    },
    useBinaryFormat: true,
    interceptors: [],
    acceptCompression: [],
    sendCompression: null,
    compressMinBytes: Number.POSITIVE_INFINITY,
    readMaxBytes,
    writeMaxBytes: 0xffffffff,
  });
}
