import { Client } from './client.js';

let shared: Client | undefined;

/** The client that `Sandbox.create()` and its like use: made from the environment on first use. */
export function defaultClient(): Client {
  shared ??= new Client();
  return shared;
}
